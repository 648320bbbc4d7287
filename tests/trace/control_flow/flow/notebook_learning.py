"""Networks and learners from scratch, as courses write them down."""

import copy
import functools
import math
from dataclasses import dataclass, field

import numpy as np

from tests.trace.control_flow.flow.program import program

ARCHITECTURE = [
    {"input_dim": 3, "output_dim": 5, "activation": "relu"},
    {"input_dim": 5, "output_dim": 4, "activation": "relu"},
    {"input_dim": 4, "output_dim": 1, "activation": "sigmoid"},
]


def initial_parameters(rng):
    values = {}
    for number, layer in enumerate(ARCHITECTURE):
        values["W" + str(number + 1)] = rng.normal(size=(layer["output_dim"], layer["input_dim"]))
        values["b" + str(number + 1)] = 0.1 * rng.normal(size=(layer["output_dim"], 1))
    return values


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def relu(z):
    return np.maximum(0, z)


def single_layer_forward(a_prev, w, b, activation="relu"):
    z = np.dot(w, a_prev) + b
    if activation == "relu":
        function = relu
    elif activation == "sigmoid":
        function = sigmoid
    else:
        raise Exception("Non-supported activation function")
    return function(z), z


def full_forward(x, params, architecture):
    memory = {}
    a_curr = x
    for idx, layer in enumerate(architecture):
        layer_idx = idx + 1
        a_prev = a_curr
        w_curr = params["W" + str(layer_idx)]
        b_curr = params["b" + str(layer_idx)]
        a_curr, z_curr = single_layer_forward(a_prev, w_curr, b_curr, layer["activation"])
        memory["A" + str(idx)] = a_prev
        memory["Z" + str(layer_idx)] = z_curr
    return a_curr, memory


@program(
    lambda rng: (
        initial_parameters(rng),
        rng.normal(size=(3, 12)),
        rng.integers(0, 2, (1, 12)),
    )
)
def network_of_dicts(params, x, y):
    y_hat, memory = full_forward(x, params, ARCHITECTURE)
    m = y_hat.shape[1]
    cost = -1 / m * (np.dot(y, np.log(y_hat).T) + np.dot(1 - y, np.log(1 - y_hat).T))
    sparsity = sum(np.mean(np.abs(v)) for k, v in memory.items() if k.startswith("Z"))
    return np.squeeze(cost) + 0.01 * sparsity


class Dense:
    def __init__(self, w, b):
        self.w = w
        self.b = b

    def forward(self, x):
        self.x = x
        return x @ self.w + self.b

    def backward(self, grad, rate):
        grad_input = grad @ self.w.T
        self.w = self.w - rate * self.x.T @ grad
        self.b = self.b - rate * grad.sum(axis=0)
        return grad_input


class Tanh:
    def forward(self, x):
        self.out = np.tanh(x)
        return self.out

    def backward(self, grad, rate):
        return grad * (1 - self.out**2)


@program(
    lambda rng: (
        rng.uniform(0.01, 0.1),
        [rng.normal(size=(2, 6)), np.zeros(6), rng.normal(size=(6, 1)), np.zeros(1)],
        rng.normal(size=(10, 2)),
    )
)
def network_of_layer_objects(rate, weights, x):
    w1, b1, w2, b2 = weights
    network = [Dense(w1, b1), Tanh(), Dense(w2, b2)]
    y = (x[:, :1] * x[:, 1:]) > 0
    history = []
    for epoch in range(5):
        out = x
        for layer in network:
            out = layer.forward(out)
        error = out - y
        history.append(np.mean(error**2))
        grad = 2 * error / len(x)
        for layer in reversed(network):
            grad = layer.backward(grad, rate)
        if epoch % 2 == 0:
            print("epoch", epoch)
    return history[-1]


def conv_forward_naive(x, w, b, conv_param):
    pad, stride = conv_param["pad"], conv_param["stride"]
    n, c, h, width = x.shape
    f, _, hh, ww = w.shape
    h_out = 1 + (h + 2 * pad - hh) // stride
    w_out = 1 + (width + 2 * pad - ww) // stride
    out = np.zeros((n, f, h_out, w_out))
    x_pad = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), mode="constant")
    for i in range(n):
        for j in range(f):
            for k in range(h_out):
                for l in range(w_out):
                    hs, ws = k * stride, l * stride
                    window = x_pad[i, :, hs : hs + hh, ws : ws + ww]
                    out[i, j, k, l] = np.sum(window * w[j]) + b[j]
    return out


def max_pool_naive(x, size):
    n, c, h, w = x.shape
    out = np.zeros((n, c, h // size, w // size))
    for i in range(h // size):
        for j in range(w // size):
            window = x[:, :, i * size : (i + 1) * size, j * size : (j + 1) * size]
            out[:, :, i, j] = np.max(window, axis=(2, 3))
    return out


def softmax_loss(x, y):
    probs = np.exp(x - np.max(x, axis=1, keepdims=True))
    probs /= np.sum(probs, axis=1, keepdims=True)
    n = x.shape[0]
    loss = -np.sum(np.log(probs[np.arange(n), y])) / n
    dx = probs.copy()
    dx[np.arange(n), y] -= 1
    dx /= n
    return loss, dx


@program(
    lambda rng: (
        {
            "W1": 0.5 * rng.normal(size=(2, 1, 3, 3)),
            "b1": np.zeros(2),
            "W2": 0.5 * rng.normal(size=(18, 3)),
            "b2": np.zeros(3),
        },
        rng.normal(size=(2, 1, 6, 6)),
        rng.integers(0, 3, 2),
    )
)
def three_layer_convnet(params, x, y, reg=1e-2):
    out = conv_forward_naive(x, params["W1"], params["b1"], {"pad": 1, "stride": 1})
    out = max_pool_naive(np.maximum(out, 0), 2)
    scores = out.reshape(out.shape[0], -1).dot(params["W2"]) + params["b2"]
    loss, dscores = softmax_loss(scores, y)
    assert dscores.shape == scores.shape
    loss += 0.5 * reg * (np.sum(params["W1"] ** 2) + np.sum(params["W2"] ** 2))
    return loss


@program(lambda rng: (rng.normal(size=(4, 3)), rng.normal(size=(8, 4)), rng.integers(0, 3, 8)))
def svm_loss_naive(w, x, y):
    dw = np.zeros(w.shape)
    num_classes = w.shape[1]
    num_train = x.shape[0]
    loss = 0.0
    for i in range(num_train):
        scores = x[i].dot(w)
        correct_class_score = scores[y[i]]
        for j in range(num_classes):
            if j == y[i]:
                continue
            margin = scores[j] - correct_class_score + 1
            if margin > 0:
                loss += margin
                dw[:, j] += x[i].T
                dw[:, y[i]] -= x[i].T
    loss /= num_train
    dw /= num_train
    loss += 0.1 * np.sum(w * w)
    dw += 0.2 * w
    return loss + 0.01 * np.linalg.norm(dw)


@program(
    lambda rng: (
        {
            "Wxh": 0.3 * rng.normal(size=(5, 4)),
            "Whh": 0.3 * rng.normal(size=(5, 5)),
            "Why": 0.3 * rng.normal(size=(4, 5)),
            "bh": np.zeros((5, 1)),
            "by": np.zeros((4, 1)),
        },
        "hello world"[rng.integers(0, 4) :],
    )
)
def character_rnn(model, text):
    chars = sorted("helo wrd"[:8])
    char_to_ix = {ch: i % 4 for i, ch in enumerate(chars)}
    inputs = [char_to_ix[ch] for ch in text[:-1]]
    targets = [char_to_ix[ch] for ch in text[1:]]
    xs, hs, ys, ps = {}, {}, {}, {}
    hs[-1] = np.copy(np.zeros((5, 1)))
    loss = 0
    for t in range(len(inputs)):
        xs[t] = np.zeros((4, 1))
        xs[t][inputs[t]] = 1
        hs[t] = np.tanh(np.dot(model["Wxh"], xs[t]) + np.dot(model["Whh"], hs[t - 1]) + model["bh"])
        ys[t] = np.dot(model["Why"], hs[t]) + model["by"]
        ps[t] = np.exp(ys[t]) / np.sum(np.exp(ys[t]))
        loss += -np.log(ps[t][targets[t], 0])
    return loss


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def softmax(x):
    exp_x = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return exp_x / np.sum(exp_x, axis=-1, keepdims=True)


def layer_norm(x, g, b, eps: float = 1e-5):
    mean = np.mean(x, axis=-1, keepdims=True)
    variance = np.var(x, axis=-1, keepdims=True)
    return g * (x - mean) / np.sqrt(variance + eps) + b


def linear(x, w, b):
    return x @ w + b


def ffn(x, c_fc, c_proj):
    return linear(gelu(linear(x, **c_fc)), **c_proj)


def attention(q, k, v, mask):
    return softmax(q @ k.T / np.sqrt(q.shape[-1]) + mask) @ v


def mha(x, c_attn, c_proj, n_head):
    x = linear(x, **c_attn)
    qkv = np.split(x, 3, axis=-1)
    qkv_heads = list(map(lambda x: np.split(x, n_head, axis=-1), qkv))
    causal_mask = (1 - np.tri(x.shape[0])) * -1e10
    out_heads = [attention(q, k, v, causal_mask) for q, k, v in zip(*qkv_heads)]
    return linear(np.hstack(out_heads), **c_proj)


def transformer_block(x, mlp, attn, ln_1, ln_2, n_head):
    x = x + mha(layer_norm(x, **ln_1), **attn, n_head=n_head)
    return x + ffn(layer_norm(x, **ln_2), **mlp)


def language_model(rng):
    def dense(n, m):
        return {"w": 0.3 * rng.normal(size=(n, m)), "b": 0.1 * rng.normal(size=m)}

    def norm():
        return {"g": 1 + 0.1 * rng.normal(size=4), "b": 0.1 * rng.normal(size=4)}

    block = lambda: {
        "mlp": {"c_fc": dense(4, 8), "c_proj": dense(8, 4)},
        "attn": {"c_attn": dense(4, 12), "c_proj": dense(4, 4)},
        "ln_1": norm(),
        "ln_2": norm(),
    }
    return {
        "wte": rng.normal(size=(6, 4)),
        "wpe": rng.normal(size=(8, 4)),
        "blocks": [block(), block()],
        "ln_f": norm(),
    }


@program(lambda rng: (language_model(rng), rng.integers(0, 6, 7).tolist()))
def language_model_loss(params, tokens):
    def gpt2(inputs, wte, wpe, blocks, ln_f, n_head):
        x = wte[inputs] + wpe[range(len(inputs))]
        for block in blocks:
            x = transformer_block(x, **block, n_head=n_head)
        x = layer_norm(x, **ln_f)
        return x @ wte.T

    x, y = tokens[:-1], tokens[1:]
    output = softmax(gpt2(x, **params, n_head=2))
    return np.mean(-np.log(output[np.arange(len(output)), y]))


class LogisticRegression:
    """Gradient descent with early stopping, in scikit-learn's manner."""

    def __init__(self, alpha=0.1, lam=1.0, n_iter=40, tol=1e-3, verbose=False):
        self.alpha = alpha
        self.lam = lam
        self.n_iter = n_iter
        self.tol = tol
        self.verbose = verbose

    def fit(self, X, y):
        X = np.c_[np.ones(X.shape[0]), X]
        self.theta_ = np.zeros(X.shape[1])
        self.costs_ = []
        for i in range(self.n_iter):
            h = sigmoid(X @ self.theta_)
            cost = -np.mean(y * np.log(h) + (1 - y) * np.log(1 - h))
            self.costs_.append(cost)
            gradient = X.T @ (h - y) / len(y)
            gradient[1:] += self.lam / len(y) * self.theta_[1:]
            self.theta_ -= self.alpha * gradient
            if self.verbose and i % 10 == 0:
                print(f"Iteration {i}: cost {cost:.4f}")
            if i > 0 and abs(self.costs_[-2] - cost) < self.tol:
                break
        return self

    def predict_proba(self, X):
        return sigmoid(np.c_[np.ones(X.shape[0]), X] @ self.theta_)


def split(rng):
    x = rng.normal(size=(30, 2))
    return rng.uniform(0.5, 2.0), x, (x @ [1.0, -1.0] + rng.normal(size=30) > 0).astype(int)


@program(split)
def validation_loss_of_a_penalty(lam, x, y):
    model = LogisticRegression(alpha=0.5, lam=lam)
    model.fit(x[:20], y[:20])
    p = model.predict_proba(x[20:])
    return -np.mean(np.where(y[20:] == 1, np.log(p), np.log(1 - p)))


class Value:
    """A number that remembers how it was made, as lectures on backpropagation build it."""

    def __init__(self, data, _children=(), _op=""):
        self.data = data
        self.grad = 0
        self._backward = lambda: None
        self._prev = set(_children)
        self._op = _op

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data + other.data, (self, other), "+")

        def _backward():
            self.grad += out.grad
            other.grad += out.grad

        out._backward = _backward
        return out

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data * other.data, (self, other), "*")

        def _backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out._backward = _backward
        return out

    def tanh(self):
        t = math.tanh(self.data)
        out = Value(t, (self,), "tanh")

        def _backward():
            self.grad += (1 - t**2) * out.grad

        out._backward = _backward
        return out

    def backward(self):
        topo = []
        visited = set()

        def build_topo(v):
            if v not in visited:
                visited.add(v)
                for child in v._prev:
                    build_topo(child)
                topo.append(v)

        build_topo(self)
        self.grad = 1
        for v in reversed(topo):
            v._backward()

    __radd__ = __add__
    __rmul__ = __mul__


@program(lambda rng: (rng.normal(size=6), rng.normal(size=2)))
def backpropagation_by_objects(w, x):
    weights = [Value(v) for v in w]
    inputs = [Value(v) for v in x]
    hidden = []
    for k in range(2):
        act = sum((wi * xi for wi, xi in zip(weights[2 * k : 2 * k + 2], inputs)), Value(0.1))
        hidden.append(act.tanh())
    out = (hidden[0] * weights[4] + hidden[1] * weights[5]).tanh()
    out.backward()
    return out.data + sum(v.grad**2 for v in weights + inputs)


def batchnorm_forward(x, gamma, beta, bn_param):
    mode = bn_param["mode"]
    eps = bn_param.get("eps", 1e-5)
    momentum = bn_param.get("momentum", 0.9)
    n, d = x.shape
    running_mean = bn_param.get("running_mean", np.zeros(d, dtype=x.dtype))
    running_var = bn_param.get("running_var", np.zeros(d, dtype=x.dtype))
    out, cache = None, None
    if mode == "train":
        mu = x.mean(axis=0)
        var = x.var(axis=0)
        std = np.sqrt(var + eps)
        x_hat = (x - mu) / std
        out = gamma * x_hat + beta
        running_mean = momentum * running_mean + (1 - momentum) * mu
        running_var = momentum * running_var + (1 - momentum) * var
        cache = (x, mu, std, x_hat)
    elif mode == "test":
        out = gamma * (x - running_mean) / np.sqrt(running_var + eps) + beta
    else:
        raise ValueError('Invalid forward batchnorm mode "%s"' % mode)
    bn_param["running_mean"] = running_mean
    bn_param["running_var"] = running_var
    return out, cache


@program(
    lambda rng: (
        {"w": rng.normal(size=(3, 4)), "gamma": np.ones(4), "beta": 0.1 * rng.normal(size=4)},
        rng.normal(size=(20, 3)),
        int(rng.integers(1000)),
    )
)
def batch_norm_and_dropout(params, x, seed):
    rng = np.random.default_rng(231)
    bn_param = {"mode": "train"}
    loss = 0
    for batch in np.array_split(x, 4):
        h, _ = batchnorm_forward(batch @ params["w"], params["gamma"], params["beta"], bn_param)
        mask = (rng.random(h.shape) < 0.8) / 0.8
        h = np.maximum(h, 0) * mask
        loss += np.mean(h**2)
    bn_param["mode"] = "test"
    h, _ = batchnorm_forward(x @ params["w"], params["gamma"], params["beta"], bn_param)
    return loss + np.mean(h) + 1e-3 * seed


@dataclass
class Adam:
    lr: float
    beta1: float = 0.9
    beta2: float = 0.999
    t: int = 0
    m: dict = field(default_factory=dict)
    v: dict = field(default_factory=dict)

    def update(self, name, param, grad):
        if name not in self.m:
            self.m[name] = np.zeros_like(param)
            self.v[name] = np.zeros_like(param)
        self.m[name] = self.beta1 * self.m[name] + (1 - self.beta1) * grad
        self.v[name] = self.beta2 * self.v[name] + (1 - self.beta2) * grad**2
        m_hat = self.m[name] / (1 - self.beta1**self.t)
        v_hat = self.v[name] / (1 - self.beta2**self.t)
        return param - self.lr * m_hat / (np.sqrt(v_hat) + 1e-8)


def minibatches(x, y, size, rng):
    order = rng.permutation(len(x))
    for start in range(0, len(x), size):
        chosen = order[start : start + size]
        yield x[chosen], y[chosen]


@program(lambda rng: (rng.uniform(0.01, 0.2), rng.normal(size=(16, 2)), rng.normal(size=16)))
def minibatch_adam(lr, x, y):
    rng = np.random.default_rng(0)
    params = {"w": np.zeros(2), "b": 0.0}
    optimizer = Adam(lr=lr)
    best, best_params = np.inf, None
    for epoch in range(3):
        for xb, yb in minibatches(x, y, 5, rng):
            optimizer.t += 1
            residual = xb @ params["w"] + params["b"] - yb
            grads = {"w": xb.T @ residual / len(yb), "b": residual.mean()}
            for name in params:
                params[name] = optimizer.update(name, params[name], grads[name])
        loss = np.mean((x @ params["w"] + params["b"] - y) ** 2)
        if loss < best:
            best, best_params = loss, copy.deepcopy(params)
    return best + np.sum(best_params["w"])


def discount_rewards(r, gamma):
    discounted_r = np.zeros_like(r)
    running_add = 0
    for t in reversed(range(0, r.size)):
        if r[t] != 0:
            running_add = 0
        running_add = running_add * gamma + r[t]
        discounted_r[t] = running_add
    return discounted_r


@program(lambda rng: (rng.normal(size=(2, 3)), rng.normal(size=3), rng.random(12)))
def policy_gradient(w, start, draws):
    state, log_probs, rewards = start, [], []
    for u in draws:
        logits = w @ state
        p = np.exp(logits - logits.max())
        p = p / p.sum()
        action = 0 if u < p[0] else 1
        log_probs.append(np.log(p[action]))
        state = np.roll(state, 1) * 0.9 + (0.3 if action == 0 else -0.2)
        rewards.append(1.0 if state[0] > 0.2 else (-1.0 if state[0] < -0.2 else 0.0))
    advantages = discount_rewards(np.array(rewards), 0.99)
    advantages -= np.mean(advantages)
    std = np.std(advantages)
    if std > 0:
        advantages /= std
    return -np.sum(np.array(log_probs) * advantages)


def compose(*functions):
    return functools.reduce(lambda f, g: lambda x: g(f(x)), functions, lambda x: x)


@program(lambda rng: ([rng.normal(size=(3, 3)) for _ in range(3)], rng.normal(size=(5, 3))))
def composed_layers(weights, x):
    def residual(w):
        def layer(h):
            return h + np.tanh(h @ w)

        return layer

    model = compose(*(residual(w) for w in weights), lambda h: h.sum(axis=1))
    return float(np.square(model(x)).mean())
