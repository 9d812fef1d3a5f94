"""Compose a scene, build a corpus, and read it."""

import segue

scene = segue.scene("(dog + rain) * wind")
print(scene.captions()[0])
print(scene.negatives()[0])

corpus = segue.build("triplets.yaml", out="out")
for sample in list(corpus["train"])[:3]:
    pcm, rate = sample.render()
    print(f"{sample.id}: {len(pcm) / rate:.1f} s at {rate} Hz: {sample.row['caption']}")
