// The play buttons of the minimal-pair siblings: one of them is heard at a time.

export class Siblings {
  constructor(article, beforePlay) {
    this.audio = new Audio();
    this.audio.preload = "none";
    this.playing = null;
    for (const button of article.querySelectorAll("[data-sibling]")) {
      button.addEventListener("click", () => {
        const again = this.playing === button;
        this.stop();
        if (again) return;
        beforePlay();
        this.playing = button;
        button.textContent = "Stop";
        this.audio.src = button.dataset.sibling;
        this.audio.play().catch(() => this.stop());
      });
    }
    this.audio.addEventListener("ended", () => this.stop());
  }

  stop() {
    this.audio.pause();
    if (this.playing) this.playing.textContent = "Play";
    this.playing = null;
  }
}
