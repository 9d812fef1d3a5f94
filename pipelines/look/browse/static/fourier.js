// The magnitudes of a real signal's spectrum, by a radix-2 transform that keeps its tables.

export class Fourier {
  constructor(size) {
    this.size = size;
    this.real = new Float64Array(size);
    this.imaginary = new Float64Array(size);
    this.cosine = new Float64Array(size / 2);
    this.sine = new Float64Array(size / 2);
    this.window = new Float64Array(size);
    this.reversed = new Uint32Array(size);
    const bits = Math.log2(size);
    for (let i = 0; i < size; i++) {
      this.window[i] = 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / size);
      for (let bit = 0; bit < bits; bit++) {
        if (i & (1 << bit)) this.reversed[i] |= 1 << (bits - 1 - bit);
      }
    }
    for (let i = 0; i < size / 2; i++) {
      this.cosine[i] = Math.cos((2 * Math.PI * i) / size);
      this.sine[i] = Math.sin((2 * Math.PI * i) / size);
    }
  }

  // Power of each of size / 2 bins around a moment; what lies outside the signal is silence.
  power(signal, centre, result) {
    const { size, real, imaginary } = this;
    const start = Math.round(centre - size / 2);
    for (let i = 0; i < size; i++) {
      const value = signal[start + i] ?? 0;
      real[this.reversed[i]] = value * this.window[i];
    }
    imaginary.fill(0);
    for (let half = 1; half < size; half *= 2) {
      const stride = size / (2 * half);
      for (let base = 0; base < size; base += 2 * half) {
        for (let i = 0; i < half; i++) {
          const low = base + i;
          const high = low + half;
          const c = this.cosine[i * stride];
          const s = this.sine[i * stride];
          const re = real[high] * c + imaginary[high] * s;
          const im = imaginary[high] * c - real[high] * s;
          real[high] = real[low] - re;
          imaginary[high] = imaginary[low] - im;
          real[low] += re;
          imaginary[low] += im;
        }
      }
    }
    for (let i = 0; i < size / 2; i++) result[i] = real[i] ** 2 + imaginary[i] ** 2;
  }
}
