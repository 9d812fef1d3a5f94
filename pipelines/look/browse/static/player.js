// One sample's player: controls, decoded pictures, and the playhead over them.

import { drawSpectrogram, drawWaveform } from "./draw.js";

const calm = matchMedia("(prefers-reduced-motion: reduce)");
const dark = matchMedia("(prefers-color-scheme: dark)");

export class Player {
  constructor(article) {
    this.box = article.querySelector("[data-player]");
    this.audio = this.box.querySelector("audio");
    this.ended = new AbortController();
    if (!this.audio) return;
    this.seconds = Number(article.dataset.seconds);
    this.rate = Number(article.dataset.rate);
    this.seek = this.box.querySelector("[data-seek]");
    this.button = this.box.querySelector("[data-play]");
    this.head = this.box.querySelector("[data-playhead]");
    this.audio.controls = false;
    this.box.classList.add("ready");
    this.waiting = this.box.querySelector("[data-waiting]");
    this.waiting.hidden = false;
    this.listen();
    this.decoded = this.decode();
  }

  listen() {
    const { signal } = this.ended;
    const on = (target, kind, action) => target.addEventListener(kind, action, { signal });
    on(this.button, "click", () => this.toggle());
    on(this.seek, "input", () => this.moveTo(Number(this.seek.value)));
    on(this.box.querySelector("[data-stack]"), "click", (event) => {
      const box = event.currentTarget.getBoundingClientRect();
      this.moveTo(((event.clientX - box.left) / box.width) * this.seconds);
    });
    for (const kind of ["play", "pause", "ended"]) on(this.audio, kind, () => this.showState());
    on(this.audio, "timeupdate", () => this.showTime());
    on(this.audio, "seeked", () => this.showTime());
    on(this.audio, "error", async () => {
      await this.decoded; // the server tells more of what is wrong
      this.failed("this browser cannot play it");
    });
    on(dark, "change", () => this.draw());
    this.watcher = new ResizeObserver(() => this.draw());
    this.watcher.observe(this.box);
  }

  async decode() {
    try {
      const options = { headers: { Accept: "audio/*, application/json" }, signal: this.ended.signal };
      const answer = await fetch(this.audio.getAttribute("src"), options);
      if (!answer.ok) {
        const told = await answer.json();
        throw new Error([told.error, told.fix].filter(Boolean).join(" — "));
      }
      const context = new OfflineAudioContext(1, 1, this.rate);
      const decoded = await context.decodeAudioData(await answer.arrayBuffer());
      this.signal = decoded.getChannelData(0);
      this.draw();
    } catch (error) {
      if (error.name !== "AbortError") this.failed(error.message);
    } finally {
      this.waiting.hidden = true;
    }
  }

  draw() {
    if (!this.signal || this.ended.signal.aborted) return;
    const width = this.box.clientWidth;
    const scheme = dark.matches;
    if (this.drawn === `${width} ${scheme}`) return;
    this.drawn = `${width} ${scheme}`;
    drawWaveform(this.box.querySelector("[data-waveform]"), this.signal);
    drawSpectrogram(this.box.querySelector("[data-spectrogram]"), this.signal, this.rate);
  }

  failed(message) {
    const alert = this.box.querySelector("[data-alert]");
    if (!alert.hidden) return;
    alert.textContent = `The audio cannot be shown: ${message}`;
    alert.hidden = false;
  }

  toggle() {
    if (!this.audio) return;
    if (this.audio.paused) this.audio.play().catch((error) => this.failed(error.message));
    else this.audio.pause();
  }

  moveTo(seconds) {
    this.audio.currentTime = Math.min(Math.max(seconds, 0), this.seconds);
    this.showTime();
  }

  showState() {
    const playing = !this.audio.paused && !this.audio.ended;
    this.box.classList.toggle("playing", playing);
    this.button.setAttribute("aria-label", playing ? "Pause" : "Play");
    if (playing && !calm.matches) this.follow();
    else this.showTime();
  }

  follow() {
    this.showTime();
    if (!this.audio.paused && !this.ended.signal.aborted) requestAnimationFrame(() => this.follow());
  }

  showTime() {
    const now = this.audio.currentTime;
    const told = `${now.toFixed(2)} / ${this.seconds.toFixed(2)} s`;
    this.box.querySelector("[data-clock]").textContent = told;
    this.seek.value = now;
    this.seek.setAttribute("aria-valuetext", `${now.toFixed(1)} of ${this.seconds.toFixed(1)} seconds`);
    this.head.hidden = false;
    this.head.style.left = `${(100 * now) / this.seconds}%`;
  }

  close() {
    this.ended.abort();
    this.watcher?.disconnect();
    this.audio?.pause();
  }
}
