// The waveform and the spectrogram of decoded audio, drawn on canvases of any size.

import { Fourier } from "./fourier.js";

const FLOOR_DB = -80;
const LOWEST_HZ = 40;
const ROWS = 168;
const MOST_COLUMNS = 1000;
const MARKS_HZ = [100, 1000, 10000];
// From silence to loud: night, violet, ember, straw.
const RAMP = [[11, 13, 18], [52, 28, 92], [132, 37, 105], [205, 71, 72], [244, 142, 56], [252, 231, 164]];

export function drawWaveform(canvas, signal) {
  const context = sized(canvas);
  const { width, height } = canvas;
  context.fillStyle = getComputedStyle(canvas).getPropertyValue("--wave");
  const middle = height / 2;
  const scale = (0.96 * middle) / peak(signal);
  for (let x = 0; x < width; x++) {
    const start = Math.floor((x * signal.length) / width);
    const end = Math.max(start + 1, Math.floor(((x + 1) * signal.length) / width));
    let least = 0;
    let most = 0;
    for (let i = start; i < end; i++) {
      const value = signal[i];
      if (value < least) least = value;
      if (value > most) most = value;
    }
    const top = middle - most * scale;
    context.fillRect(x, top, 1, Math.max(1, (most - least) * scale));
  }
  canvas.dataset.state = "drawn";
}

function peak(signal) {
  let found = 1e-4;
  for (const value of signal) found = Math.max(found, Math.abs(value));
  return found;
}

export function drawSpectrogram(canvas, signal, rate) {
  const context = sized(canvas);
  const columns = Math.min(MOST_COLUMNS, canvas.width);
  const image = spectrogram(signal, rate, columns);
  const small = new OffscreenCanvas(columns, ROWS);
  small.getContext("2d").putImageData(image, 0, 0);
  context.drawImage(small, 0, 0, canvas.width, canvas.height);
  drawMarks(context, canvas, rate);
  canvas.dataset.state = "drawn";
}

function sized(canvas) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(canvas.clientWidth * scale));
  canvas.height = Math.max(1, Math.round(canvas.clientHeight * scale));
  return canvas.getContext("2d");
}

function spectrogram(signal, rate, columns) {
  const size = rate < 24000 ? 1024 : 2048;
  const fourier = new Fourier(size);
  const power = new Float64Array(size / 2);
  const levels = new Float32Array(columns * ROWS);
  let loudest = -Infinity;
  for (let x = 0; x < columns; x++) {
    fourier.power(signal, ((x + 0.5) * signal.length) / columns, power);
    for (let y = 0; y < ROWS; y++) {
      const [low, high] = [y, y + 1].map((at) => (frequency(at / ROWS, rate) * size) / rate);
      const level = 10 * Math.log10(powerBetween(power, low, high) + 1e-20);
      levels[y * columns + x] = level;
      if (level > loudest) loudest = level;
    }
  }
  const image = new ImageData(columns, ROWS);
  for (let y = 0; y < ROWS; y++) {
    for (let x = 0; x < columns; x++) {
      const level = (levels[(ROWS - 1 - y) * columns + x] - loudest - FLOOR_DB) / -FLOOR_DB;
      image.data.set(colour(Math.min(1, Math.max(0, level))), 4 * (y * columns + x));
    }
  }
  return image;
}

// The strongest of the bins from low to high; where they lie within one, a value between two bins.
function powerBetween(power, low, high) {
  const last = power.length - 1;
  if (high - low < 1) {
    const middle = Math.min((low + high) / 2, last);
    const below = Math.floor(middle);
    const share = middle - below;
    return power[below] * (1 - share) + power[Math.min(below + 1, last)] * share;
  }
  let strongest = 0;
  for (let bin = Math.floor(low); bin <= Math.min(Math.ceil(high), last); bin++) {
    if (power[bin] > strongest) strongest = power[bin];
  }
  return strongest;
}

// Frequencies rise by equal ratios from the bottom, at 0, to the top, at 1.
function frequency(place, rate) {
  return LOWEST_HZ * (rate / 2 / LOWEST_HZ) ** place;
}

function colour(level) {
  const at = level * (RAMP.length - 1);
  const index = Math.min(RAMP.length - 2, Math.floor(at));
  const share = at - index;
  const mixed = RAMP[index].map((value, i) => value + (RAMP[index + 1][i] - value) * share);
  return [...mixed, 255];
}

function drawMarks(context, canvas, rate) {
  const scale = canvas.height / canvas.clientHeight;
  context.font = `${11 * scale}px sans-serif`;
  context.textBaseline = "middle";
  for (const hertz of MARKS_HZ) {
    const place = Math.log(hertz / LOWEST_HZ) / Math.log(rate / 2 / LOWEST_HZ);
    if (place > 0.97) continue;
    const y = canvas.height * (1 - place);
    const text = hertz < 1000 ? `${hertz} Hz` : `${hertz / 1000} kHz`;
    context.fillStyle = "rgb(11 13 18 / 60%)";
    context.fillRect(2 * scale, y - 8 * scale, context.measureText(text).width + 8 * scale, 16 * scale);
    context.fillStyle = "#f2f4f6";
    context.fillText(text, 6 * scale, y);
  }
}
