"""TensorFlow: a Keras network in a compiled graph: tensorflow.py FOLDER"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
del sys.path[0]  # this folder: its `tensorflow.py` would be imported in place of the package
import keras
import numpy as np
import tensorflow as tf
from keras import layers

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import exchange

case, weights, batches = exchange.read(sys.argv[1])
tf.config.threading.set_intra_op_parallelism_threads(case["threads"])
tf.config.threading.set_inter_op_parallelism_threads(1)
sizes = case["architecture"]
kind = sizes["network"]


def mlp():
    stages = [layers.Dense(width, activation="relu") for width in sizes["hidden"]]
    return keras.Sequential([*stages, layers.Dense(sizes["outputs"])])


def cnn():
    first, second, third = sizes["filters"]
    return keras.Sequential([
        layers.Conv2D(first, 3, activation="relu"), layers.MaxPool2D(2),
        layers.Conv2D(second, 3, activation="relu"), layers.MaxPool2D(2),
        layers.Conv2D(third, 3, activation="relu"), layers.Flatten(),
        layers.Dense(sizes["hidden"], activation="relu"), layers.Dense(sizes["classes"]),
    ])


def lstm():
    return keras.Sequential([
        layers.Embedding(sizes["vocabulary"], sizes["embedding"]), layers.LSTM(sizes["hidden"]),
        layers.Dense(sizes["vocabulary"]),
    ])


def resnet():
    def conv(maps, channels, stride=1):
        if stride == 1:
            return layers.Conv2D(channels, 3, padding="same", use_bias=False)(maps)
        # Keras's own padding is at one side only where the stride is 2.
        return layers.Conv2D(channels, 3, stride, use_bias=False)(layers.ZeroPadding2D(1)(maps))

    def widen(past, before, after):
        # Zeros for new channels, at half the height and width.
        shape = past.shape[1] // 2, past.shape[2] // 2, before + past.shape[3] + after
        padded = layers.Lambda(
            lambda maps: tf.pad(maps[:, ::2, ::2], ((0, 0), (0, 0), (0, 0), (before, after))),
            output_shape=shape,
        )
        return padded(past)

    def norm(maps):
        return layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(maps)

    images = keras.Input(tuple(batches[0][0].shape[1:]))
    maps = layers.ReLU()(norm(conv(images, 16)))
    for channels in 16, 32, 64:
        for _ in range((sizes["depth"] - 2) // 6):
            added, past = channels - maps.shape[-1], maps
            if added:
                past = widen(past, added // 2, added - added // 2)
            maps = layers.ReLU()(norm(conv(maps, channels, 2 if added else 1)))
            maps = layers.ReLU()(norm(conv(maps, channels)) + past)
    logits = layers.Dense(sizes["classes"])(layers.GlobalAveragePooling2D()(maps))
    return keras.Model(images, logits)


def prefixes():
    """The names of the layers with weights, in the order in which Keras keeps them."""
    if kind == "mlp":
        return [f"layers.{k}" for k in range(len(sizes["hidden"]) + 1)]
    if kind == "cnn":
        return ["conv1", "conv2", "conv3", "dense1", "dense2"]
    if kind == "lstm":
        return ["embedding", "lstm", "dense"]
    blocks = [f"layer{g}.{k}." for g in (1, 2, 3) for k in range((sizes["depth"] - 2) // 6)]
    inner = [block + part for block in blocks for part in ("conv1", "bn1", "conv2", "bn2")]
    return ["conv1", "bn1", *inner, "fc"]


def set_weights(network):
    """Sets weights in PyTorch's layout, transposed to Keras's: inputs before outputs, both last."""
    stages = [layer for layer in network.layers if layer.weights]
    for prefix, stage in zip(prefixes(), stages, strict=True):
        def weight(name):
            return weights[f"{prefix}.{name}"]

        if isinstance(stage, layers.Conv2D):
            bias = [weight("bias")] if stage.use_bias else []
            stage.set_weights([weight("weight").transpose(2, 3, 1, 0), *bias])
        elif isinstance(stage, layers.BatchNormalization):
            names = "weight", "bias", "running_mean", "running_var"
            stage.set_weights([weight(name) for name in names])
        elif isinstance(stage, layers.LSTM):
            kernels = weight("weight_ih_l0").T, weight("weight_hh_l0").T
            stage.set_weights([*kernels, weight("bias_ih_l0")])
        elif isinstance(stage, layers.Embedding):
            stage.set_weights([weight("weight")])
        else:
            dense = weight("weight")
            if kind == "cnn" and prefix == "dense1":  # after maps whose channels come last here
                channels = sizes["filters"][-1]
                side = int((dense.shape[1] // channels) ** 0.5)
                dense = dense.reshape(-1, channels, side, side).transpose(0, 2, 3, 1)
                dense = dense.reshape(dense.shape[0], -1)
            stage.set_weights([dense.T, weight("bias")])


def optimizer():
    settings = case["optimizer"]
    rate, decay = settings["learning_rate"], settings["weight_decay"]
    if settings["kind"] == "sgd":
        momentum, nesterov = settings["momentum"], settings["nesterov"]
        return keras.optimizers.SGD(rate, momentum, nesterov=nesterov), decay
    betas = settings["beta_1"], settings["beta_2"]
    return keras.optimizers.Adam(rate, *betas, settings["epsilon"]), decay


def tensor(array):
    if kind == "lstm":
        return tf.constant(array, tf.int32)
    return tf.constant(array.transpose(0, 2, 3, 1) if array.ndim == 4 else array)


binary = case["loss"] == "binary_cross_entropy"
batches = [
    (tensor(inputs), tf.constant(targets, tf.float32 if binary else tf.int32))
    for inputs, targets in batches
]
network = globals()[kind]()
network(batches[0][0][:1])
set_weights(network)
rule, decay = optimizer()
rule.build(network.trainable_variables)
state = network.variables + rule.variables
initial = [tf.identity(variable) for variable in state]
# Weight decay as in PyTorch: part of the gradient.
decayed = [case["optimizer"]["decay_biases"] or len(v.shape) > 1 for v in network.trainable_variables]


def loss_of(logits, targets):
    if binary:
        losses = tf.nn.sigmoid_cross_entropy_with_logits(targets, tf.reshape(logits, [-1]))
    else:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits)
    return tf.reduce_mean(losses)


@tf.function
def step(inputs, targets):
    with tf.GradientTape() as tape:
        loss = loss_of(network(inputs, training=True), targets)
    gradients = tape.gradient(loss, network.trainable_variables)
    if decay:
        pairs = zip(gradients, network.trainable_variables, decayed)
        gradients = [gradient + decay * v if pull else gradient for gradient, v, pull in pairs]
    rule.apply(gradients, network.trainable_variables)
    return loss


@tf.function
def forward(inputs):
    return network(inputs, training=False)


def train(steps):
    for variable, value in zip(state, initial):
        variable.assign(value)

    def run():
        losses = [step(*batches[k % len(batches)]) for k in range(steps)]
        losses[-1].numpy()  # waits
        return losses

    return run


def infer(steps):
    def run():
        for k in range(steps):
            outputs = forward(batches[k % len(batches)][0])
            if case["waits"]:
                outputs.numpy()
        return outputs.numpy()

    return run


def reach(_):
    """Trains until the accuracy on the validation split is reached."""
    goal = case["goal"]
    inputs, targets = (tf.concat(tensors, 0) for tensors in zip(*batches))
    held_out, labels = exchange.read_validation(sys.argv[1])
    held_out = tensor(held_out)
    size, generator = len(batches[0][0]), np.random.default_rng(0)
    for variable, value in zip(state, initial):
        variable.assign(value)

    def accuracy():
        starts = range(0, len(labels), 256)
        logits = [forward(held_out[start:start + 256]).numpy() for start in starts]
        return (np.concatenate(logits).argmax(1) == labels).mean()

    def run():
        rates = iter(goal["learning_rates"])
        order = np.arange(len(inputs))
        for _ in range(goal["epochs"]):
            for start in range(0, len(order), size):
                rows = order[start:start + size]
                rule.learning_rate.assign(next(rates))
                step(tf.gather(inputs, rows), tf.gather(targets, rows))
            if accuracy() >= goal["accuracy"]:
                return
            order = generator.permutation(len(inputs))
        raise SystemExit("the accuracy was not reached")

    return run


run = infer if case["task"] == "infer" else train
first = run(case["compared"])()
losses = [float(np.square(first).mean())] if run is infer else [float(loss) for loss in first]
timed = reach if case["task"] == "reach" else run
exchange.serve(tf.__version__, losses, case["steps"], timed)
