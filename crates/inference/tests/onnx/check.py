"""Runs ONNX files and prints for each its name and the largest difference of its outputs.

    python3 check.py FOLDER

Beside NAME.onnx lies NAME.safetensors with `inputs` and the `logits` that are expected,
which are the values of a regression.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from safetensors.numpy import load_file


def difference(found, expected):
    assert found.shape == expected.shape, (found.shape, expected.shape)
    return np.abs(found - expected).max()


def token_by_token(session, tokens, logits):
    """The difference where each token is read by itself, with the state that the last one left."""
    names = [output.name for output in session.get_outputs()]
    if "h_next" not in names:
        return 0.0
    state, parts = {}, []
    for time in range(tokens.shape[1]):
        token = {"tokens": tokens[:, time : time + 1]}
        outputs = dict(zip(names, session.run(None, token | state)))
        state = {"h": outputs["h_next"], "c": outputs["c_next"]}
        parts.append(outputs["logits"])
    return difference(np.concatenate(parts, axis=1)[:, -logits.shape[1] :], logits)


def check(path):
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    properties = {entry.key: entry.value for entry in model.metadata_props}
    name, numbers = path.stem.split(".")
    assert properties["recipe"] == name, properties
    stored = {onnx.TensorProto.DataType.Name(weight.data_type) for weight in model.graph.initializer}
    assert {"f32": "FLOAT", "f16": "FLOAT16", "i8": "INT8"}[numbers] in stored, stored
    preprocessing = json.loads(properties["preprocessing"])
    assert preprocessing["input"] in ["table", "image", "text"]
    for column in preprocessing.get("columns", []):
        assert column.get("deviation", 1) > 0, column
        assert (column.get("encoding") == "index") == (column.get("offset") == 1), column
        if column["kind"] == "text":
            vocabulary = column["vocabulary"]
            assert (vocabulary["unknown"], vocabulary["offset"]) == (1, 2), column
    if "words" in preprocessing:
        # Those of the unknown word and of the others.
        assert (preprocessing["unknown"], preprocessing["offset"]) == (0, 1), preprocessing
    assert ("resize" in preprocessing) == (preprocessing.get("filter") == "bilinear, antialiased")
    if preprocessing["input"] == "table":
        assert "NaN" in preprocessing["always_missing"] and preprocessing["largest"] == 1e6
    task = preprocessing.get("target", {}).get("task", "multiclass")
    predicted = {
        "regression": ("value", "none"),
        "binary": ("logits", "sigmoid"),
        "multiclass": ("logits", "softmax"),
    }[task]
    assert (properties["output"], properties["activation"]) == predicted, properties
    has_classes = task != "regression" and preprocessing["input"] != "text"
    classes = ["one", '"two"'] if has_classes else []
    assert json.loads(properties["classes"]) == classes, properties

    assert model.graph.output[0].name == properties["output"], "what is predicted comes first"
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    tensors = load_file(path.with_suffix(".safetensors"))
    inputs, logits = tensors["inputs"], tensors["logits"]
    assert logits.std(axis=0).max() > 0.01, "the logits hardly depend on the inputs"
    [needed] = session.get_inputs()
    if needed.name == "tokens":
        inputs = inputs.astype(np.int64)
    run = lambda some: session.run([properties["output"]], {needed.name: some})[0]
    differences = [difference(run(inputs), logits), difference(run(inputs[:1]), logits[:1])]
    differences.append(token_by_token(session, inputs, logits))
    return max(differences)


for path in sorted(Path(sys.argv[1]).glob("*.onnx")):
    print(path.stem, check(path))
