"""A GGUF file, read slowly, turned once into a folder of safetensors that loads at once."""

from __future__ import annotations

from pathlib import Path

from depthlaw.errors import no_such_file
from depthlaw.models.load import load_weights
from depthlaw.models.pretrained import quiet
from depthlaw.models.writing import new_folder


def convert_gguf(file: str | Path, folder: str | Path) -> Path:
    """Write the model and tokenizer of a GGUF file in Hugging Face's layout, weights dequantised to float32.

    Parameters
    ----------
    file
        The GGUF file; an architecture that transformers can read.
    folder
        Where to; appears only when complete. One that is there already is left alone.

    Returns
    -------
    Path
        ``folder``.

    Raises
    ------
    InputError
        When the file cannot be loaded.
    OutputError
        When the folder cannot be written.
    """
    target = Path(folder)
    if (target / "config.json").is_file():
        return target
    if not Path(file).is_file():
        raise no_such_file(file)
    model, tokenizer = load_weights(str(file), dtype="float32")
    # Saving refuses a model that says it is quantised; after loading, it no longer is.
    for attribute in ("quantization_config", "_pre_quantization_dtype"):
        if hasattr(model.config, attribute):
            delattr(model.config, attribute)
    model.hf_quantizer = None  # type: ignore[assignment]
    model.is_quantized = False  # type: ignore[assignment]
    with new_folder(target) as temporary:
        with quiet():
            model.save_pretrained(temporary)  # type: ignore[operator]
        if tokenizer is not None:
            tokenizer.save_pretrained(temporary)
    return target
