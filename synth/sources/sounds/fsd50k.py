"""FSD50K: 51,197 Freesound clips of 0.3 to 30 s in 200 AudioSet classes (Fonseca et al., 2020).

As published (Zenodo 4060432), unpacked side by side: `FSD50K.ground_truth/dev.csv` (fname, labels,
mids, split) and `eval.csv` (without split), `FSD50K.metadata/dev_clips_info_FSD50K.json` and its
like of eval (by clip: title, description, tags, license, uploader), audio in
`FSD50K.dev_audio/FNAME.wav` and `FSD50K.eval_audio/`. FNAME is the Freesound id.

Which labels: the published ones are smeared, so a clip of an electric guitar is also labelled
Guitar, Plucked_string_instrument, Musical_instrument and Music. A clip's `labels` here are the most
specific: a label is left out where another of the clip's labels lies below it in AudioSet's
ontology, and no clip of the tables lacks the one where it has the other. (A squeak is not always
labelled Door, though Door is above Squeak: where both are named, both are kept.) Names are
AudioSet's display names: "Chirp, tweet" for Chirp_and_tweet.

Labels of dev are correct and may be incomplete; those of eval are complete.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Final, Literal

from pydantic import BaseModel, Field

from synth.base.errors import SourceError
from synth.corpus.licence import parse_licence
from synth.sources.reading.base import ClipRef, Origin
from synth.sources.reading.files import FileSource, read_form, require_file
from synth.sources.reading.tables import Columns, drop_duplicates, read_rows

Subset = Literal["dev", "eval"]
SUBSETS: Final[tuple[Subset, ...]] = ("dev", "eval")
_MEND: Final = "give the folder that holds FSD50K.ground_truth/ and FSD50K.metadata/"
_IRREGULAR: Final = {"Dishes_and_pots_and_pans": "Dishes, pots, and pans"}
# AudioSet's ontology over FSD50K's vocabulary, classes in between left out: above, then below.
_ONTOLOGY: Final = """
Aircraft: Fixed-wing_aircraft_and_airplane
Alarm: Bicycle_bell Doorbell Siren Telephone Vehicle_horn_and_car_horn_and_honking
Animal: Domestic_animals_and_pets Livestock_and_farm_animals_and_working_animals Wild_animals
Bell: Bicycle_bell Chime Church_bell Cowbell
Bicycle: Bicycle_bell
Bird: Bird_vocalization_and_bird_call_and_bird_song Crow Gull_and_seagull
Bird_vocalization_and_bird_call_and_bird_song: Chirp_and_tweet
Brass_instrument: Trumpet
Breathing: Gasp
Car: Car_passing_by Race_car_and_auto_racing Vehicle_horn_and_car_horn_and_honking
Cat: Growling Hiss Meow Purr
Chime: Wind_chime
Clock: Tick Tick-tock
Cymbal: Crash_cymbal Hi-hat
Dog: Bark Growling
Domestic_animals_and_pets: Cat Dog
Domestic_sounds_and_home_sounds: Bathtub_(filling_or_washing) Coin_(dropping)
Domestic_sounds_and_home_sounds: Cupboard_open_or_close Cutlery_and_silverware
Domestic_sounds_and_home_sounds: Dishes_and_pots_and_pans Door Drawer_open_or_close Frying_(food)
Domestic_sounds_and_home_sounds: Keys_jangling Microwave_oven Packing_tape_and_duct_tape Scissors
Domestic_sounds_and_home_sounds: Sink_(filling_or_washing) Toilet_flush Typing Water_tap_and_faucet
Domestic_sounds_and_home_sounds: Writing Zipper_(clothing)
Door: Doorbell Knock Slam Sliding_door Squeak Tap
Drum: Bass_drum Snare_drum Tabla
Engine: Accelerating_and_revving_and_vroom Engine_starting Idling
Explosion: Boom Fireworks Gunshot_and_gunfire
Fire: Crackle
Fowl: Chicken_and_rooster
Glass: Chink_and_clink Shatter
Guitar: Acoustic_guitar Bass_guitar Electric_guitar Strum
Hands: Clapping Finger_snapping
Human_group_actions: Applause Chatter Cheering Clapping Crowd
Human_voice: Crying_and_sobbing Laughter Screaming Shout Sigh Singing Speech Whispering
Insect: Buzz Cricket
Keyboard_(musical): Organ Piano
Laughter: Chuckle_and_chortle Giggle
Liquid: Boiling Drip Fill_(with_liquid) Pour Splash_and_splatter
Livestock_and_farm_animals_and_working_animals: Cowbell Fowl
Mallet_percussion: Glockenspiel Marimba_and_xylophone
Mechanisms: Camera Clock Mechanical_fan Printer Ratchet_and_pawl
Motor_vehicle_(road): Bus Car Motorcycle Traffic_noise_and_roadway_noise Truck
Music: Musical_instrument
Musical_instrument: Accordion Bell Bowed_string_instrument Brass_instrument Harmonica Harp
Musical_instrument: Keyboard_(musical) Percussion Plucked_string_instrument
Musical_instrument: Scratching_(performance_technique) Wind_instrument_and_woodwind_instrument
Ocean: Waves_and_surf
Percussion: Cowbell Cymbal Drum Drum_kit Gong Mallet_percussion Rattle_(instrument) Tambourine
Plucked_string_instrument: Guitar
Pour: Trickle_and_dribble
Power_tool: Drill
Rail_transport: Subway_and_metro_and_underground Train
Rain: Raindrop
Respiratory_sounds: Breathing Cough Sneeze
Shout: Yell
Singing: Female_singing Male_singing
Speech: Child_speech_and_kid_speaking Conversation Female_speech_and_woman_speaking
Speech: Male_speech_and_man_speaking Speech_synthesizer
Telephone: Ringtone
Thunderstorm: Thunder
Tools: Hammer Power_tool Sawing
Typing: Computer_keyboard Typewriter
Vehicle: Aircraft Bicycle Boat_and_Water_vehicle Motor_vehicle_(road) Rail_transport Skateboard
Water: Gurgling Hiss Ocean Rain Stream
Wild_animals: Bird Frog Growling Hiss Insect Rattle
Wood: Crack
"""


class _Info(BaseModel):
    title: str = ""
    license: str = ""
    uploader: str = ""


class Fsd50k(FileSource):
    """The dataset's unpacked folders.

    Args:
        root: Holds the folders `FSD50K.*`.
        subsets: `dev`, `eval` or both.
    """

    name: ClassVar[str] = "fsd50k"
    origin: ClassVar[Origin] = Origin(
        title="FSD50K",
        url="https://zenodo.org/records/4060432",
        licence="CC BY 4.0; each clip under its own Creative Commons licence",
        reference="Fonseca et al., FSD50K: An Open Dataset of Human-Labeled Sound Events, "
        "IEEE/ACM TASLP 2022",
    )
    subsets: tuple[Subset, ...] = Field(default=SUBSETS, min_length=1)

    def refs(self) -> Iterator[ClipRef]:
        """One clip a row of the ground truth; the split is train, val or eval."""
        for subset in self.subsets:
            fix = f"unpack it into {self.root}, or set subsets to those that are there"
            folder = self.root / f"FSD50K.{subset}_audio"
            if not folder.is_dir():  # the other subset's folder, of nearly its name, is not meant
                raise SourceError(f"{folder}: the audio of subset {subset} not found", fix=fix)
        chosen = dict.fromkeys(self.subsets)
        rows = {subset: _rows(self.root, subset) for subset in SUBSETS}
        above = _infer_ancestors(
            [labels for clips in rows.values() for labels, _ in clips.values()]
        )
        for subset in chosen:
            path = self.root / "FSD50K.metadata" / f"{subset}_clips_info_FSD50K.json"
            require_file(path, "the metadata of the clips", _MEND)
            infos = read_form(path, dict[str, _Info])
            for name, (labels, split) in rows[subset].items():
                info = infos.get(name, _Info())
                yield ClipRef(
                    id=f"fsd50k/{name}",
                    location=f"FSD50K.{subset}_audio/{name}.wav",
                    labels=tuple(map(_display_name, _most_specific(labels, above))),
                    recording=f"freesound/{name}",
                    licence=parse_licence(info.license).id,
                    attribution=_attribution(name, info),
                    split=split,
                )


def _rows(root: Path, subset: Subset) -> dict[str, tuple[tuple[str, ...], str]]:
    """Labels and split of each clip."""
    columns = Columns(("fname", "labels", *(("split",) if subset == "dev" else ())), _MEND)
    path = root / "FSD50K.ground_truth" / f"{subset}.csv"
    rows: dict[str, tuple[tuple[str, ...], str]] = {}
    for row in drop_duplicates(read_rows(path, columns), "fname"):
        labels = tuple(
            dict.fromkeys(name for part in row["labels"].split(",") if (name := part.strip()))
        )
        rows[row["fname"]] = labels, row["split"] if subset == "dev" else "eval"
    return rows


def _infer_ancestors(clips: Collection[tuple[str, ...]]) -> dict[str, set[str]]:
    """The classes above each class, by pairs that no clip contradicts.

    Pairs are checked one by one: Growling, below both cats and dogs, is smeared to Animal alone.
    """
    parents: dict[str, set[str]] = {}
    for line in _ONTOLOGY.strip().splitlines():
        parent, children = line.split(": ")
        for child in children.split():
            parents.setdefault(child, set()).add(parent)
    above = {name: _ancestors(name, parents) for name in parents}
    for labels in clips:
        for label in labels:
            if label in above:
                above[label].intersection_update(labels)
    return above


def _ancestors(name: str, parents: Mapping[str, set[str]]) -> set[str]:
    direct = parents.get(name, set())
    return direct.union(*(_ancestors(parent, parents) for parent in direct))


def _most_specific(labels: tuple[str, ...], above: Mapping[str, set[str]]) -> tuple[str, ...]:
    broader = {name for label in labels for name in above.get(label, set())}
    return tuple(label for label in labels if label not in broader)


def _display_name(label: str) -> str:
    return _IRREGULAR.get(label) or label.replace("_and_", ", ").replace("_", " ")


def _attribution(name: str, info: _Info) -> str:
    title = f'"{info.title.strip()}"' if info.title.strip() else "a sound"
    by = f" by {info.uploader.strip()}" if info.uploader.strip() else ""
    return f"{title}{by} (Freesound {name}), in FSD50K"
