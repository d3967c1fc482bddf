# cython: language_level=3, boundscheck=False, wraparound=False
"""Stacks of dense layers over memory of torch tensors: forward, gradients, and PPO's losses in the same pass.

Addresses are trusted: `pufferlib.train.native` checks shapes and dtypes.
"""

from libc.stdint cimport int64_t
from libc.string cimport memset

from pufferlib.native._ppo cimport PufferPPO, PufferPPOSums, ppo_of, puffer_ppo_stats


cdef extern from "dense.h":
    enum: DENSE_MAX_LAYERS, DENSE_MAX_WIDTH
    ctypedef struct DenseLayer:
        int inputs, outputs
        const float *weight
        const float *bias
    ctypedef struct DenseSet:
        pass
    const DenseSet *dense_set(const char *name) noexcept nogil
    ctypedef struct DenseNet:
        const DenseSet *set
        int layers, activate_last
        DenseLayer layer[DENSE_MAX_LAYERS]
        const float *scale
        const float *mean
        const float *factor
    ctypedef struct DensePass:
        DenseNet *net
        const void *inputs
        int bytes
        size_t row_numbers
        const int64_t *samples
        size_t rows
        float *outputs
        const float *d_outputs
        const PufferPPO *ppo
        PufferPPOSums sums[1]
        float *ratios
    int dense_open(DenseNet *net, int shares) noexcept nogil
    void dense_close(DenseNet *net) noexcept nogil
    int dense_run(DensePass *given) noexcept nogil
    void dense_gradient(const DenseNet *net, int index, float *d_weight, float *d_bias) noexcept nogil

MAX_LAYERS = DENSE_MAX_LAYERS
MAX_WIDTH = DENSE_MAX_WIDTH
"""The deepest stack and the widest layer that `Net` takes."""


cdef class Net:
    """Layers of widths[0] -> widths[1] -> ... with a GELU after each, after the last one too if `activate_last`.

    threads: how many work at once. One caller at a time. instructions: "plain", "avx2", "avx512", or "" for the best that the
    machine has. Raises MemoryError, and ValueError for instructions that it does not have.
    """

    cdef DenseNet net

    def __cinit__(self, list widths, bint activate_last, int threads, str instructions=""):
        memset(&self.net, 0, sizeof(self.net))
        if not 1 <= len(widths) - 1 <= DENSE_MAX_LAYERS or not all(1 <= width <= DENSE_MAX_WIDTH for width in widths):
            raise ValueError(f"widths must be 2 to {DENSE_MAX_LAYERS + 1} numbers in [1, {DENSE_MAX_WIDTH}], got {widths}")
        if threads < 1:
            raise ValueError(f"threads must be at least 1, got {threads}")
        self.net.set = dense_set(instructions.encode())
        if not self.net.set:
            raise ValueError(f"instructions {instructions!r}: this machine does not have them; \"plain\" works everywhere")
        self.net.layers, self.net.activate_last = len(widths) - 1, activate_last
        cdef int i
        for i in range(self.net.layers):
            self.net.layer[i].inputs, self.net.layer[i].outputs = widths[i], widths[i + 1]
        if dense_open(&self.net, threads) != 0:
            raise MemoryError(f"no memory for layers of widths {widths}")

    def __dealloc__(self):
        dense_close(&self.net)

    def load(self, list weights, list biases, size_t scale, size_t mean, size_t factor):
        """Addresses of all layers' weights [outputs, inputs] and biases, read by each pass; and of three float32[widths[0]]
        or 0: the first layer reads (x * scale - mean) * factor."""
        cdef int i
        for i in range(self.net.layers):
            self.net.layer[i].weight = <const float *> <size_t> weights[i]
            self.net.layer[i].bias = <const float *> <size_t> biases[i]
        self.net.scale, self.net.mean, self.net.factor = <const float *> scale, <const float *> mean, <const float *> factor

    cdef DensePass over(self, tuple inputs, size_t rows):
        cdef DensePass made
        memset(&made, 0, sizeof(made))
        made.net = &self.net
        made.inputs = <const void *> <size_t> inputs[0]
        made.bytes, made.row_numbers, made.samples, made.rows = inputs[1], inputs[2], <const int64_t *> <size_t> inputs[3], rows
        return made

    cdef run(self, DensePass *made):
        cdef int failed
        with nogil:
            failed = dense_run(made)
        if failed:
            raise MemoryError("no memory or threads for a pass over a dense stack")

    def forward(self, tuple inputs, size_t rows, size_t outputs):
        """inputs: (address, whether uint8, numbers from row to row, address of int64 sample indices or 0).
        outputs: of float32[rows, widths[-1]]."""
        cdef DensePass made = self.over(inputs, rows)
        made.outputs = <float *> outputs
        self.run(&made)

    def backward(self, tuple inputs, size_t rows, size_t d_outputs):
        """Make the gradients for d_outputs float32[rows, widths[-1]]; `gradient` hands them out."""
        cdef DensePass made = self.over(inputs, rows)
        made.d_outputs = <const float *> d_outputs
        self.run(&made)

    def ppo(self, tuple inputs, tuple given, size_t outputs, size_t ratios, size_t stats):
        """Losses of a minibatch (`given` as in _ppo.pxd) and the gradients. The last output is the value, those before it logits.
        outputs: of float32[rows, widths[-1]] or 0."""
        cdef PufferPPO ppo = ppo_of(given)
        cdef DensePass made = self.over(inputs, ppo.rows)
        made.ppo, made.outputs, made.ratios = &ppo, <float *> outputs, <float *> ratios
        self.run(&made)
        puffer_ppo_stats(&ppo, &made.sums[0], <float *> stats)

    def gradient(self, int index, size_t d_weight, size_t d_bias):
        """Write the last pass's gradients of layer `index`."""
        dense_gradient(&self.net, index, <float *> d_weight, <float *> d_bias)
