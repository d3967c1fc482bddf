# cython: language_level=3, boundscheck=False
"""Networks of dense layers and recurrent cells over memory of torch tensors: forward, gradients, and PPO's losses in one pass.

Addresses are trusted: `pufferlib.train.native` checks shapes and dtypes.
"""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

from pufferlib.native._ppo cimport PufferPPO, PufferPPOSums, ppo_of, puffer_ppo_stats


cdef extern from "dense_pass.h":
    enum: DENSE_MAX_LAYERS, DENSE_MAX_CELLS, DENSE_MAX_WIDTH, DENSE_PAD, DENSE_MINGRU, DENSE_LSTM
    ctypedef struct DenseSet:
        pass
    const DenseSet *dense_set(const char *name) noexcept nogil
    ctypedef struct DenseLayer:
        int inputs, outputs
        const float *weight
        const float *bias
    ctypedef struct DenseCell:
        int kind, width
        DenseLayer input, hidden
    ctypedef struct DenseStandard:
        const float *mean
        const float *factor
    ctypedef struct DenseCodes:
        const int64_t *offsets
        const float *factors
        int count
    ctypedef struct DenseNet:
        const DenseSet *set
        int layers, cells, shares
        DenseLayer layer[DENSE_MAX_LAYERS]
        DenseCell cell[DENSE_MAX_CELLS]
        DenseLayer head
        const float *scale
        DenseCodes codes
        DenseStandard standard
    ctypedef struct DensePass:
        DenseNet *net
        const void *inputs
        int bytes
        size_t row_numbers
        const int64_t *samples
        size_t horizon, rows
        const uint8_t *starts
        const float *hidden
        const float *cell
        float *hidden_after
        float *cell_after
        float *outputs
        const float *d_outputs
        const PufferPPO *ppo
        float *ratios
        PufferPPOSums sums[1]
    int dense_open(DenseNet *net) noexcept nogil
    void dense_close(DenseNet *net) noexcept nogil
    void dense_load(DenseNet *net) noexcept nogil
    int dense_run(DensePass *given) noexcept nogil
    void dense_gradient(const DenseNet *net, int index, float *d_weight, float *d_bias) noexcept nogil

MAX_LAYERS = DENSE_MAX_LAYERS
MAX_CELLS = DENSE_MAX_CELLS
MAX_WIDTH = DENSE_MAX_WIDTH
CELL_WIDTH_UNIT = DENSE_PAD
"""The deepest network and the widest layer that `Net` takes; a cell's width is a multiple of the unit."""
CELLS = {"lstm": DENSE_LSTM, "mingru": DENSE_MINGRU}


cdef class Net:
    """Layers of widths[0] -> widths[1] -> ..., each followed by a GELU; `cells` layers of memory as wide as the last one; a head.

    cell: "lstm" or "mingru", "" without memory. outputs: of the head. threads: how many work at once; one caller at a time.
    instructions: "plain", "avx2", "avx512", or "" for the best that the machine has.
    codes: (count, address of int64[count] offsets, address of float32[count] factors or 0), both read by all passes: a row is
    `count` uint8, of which number i makes input offsets[i] + number 1, or, where factors[i] is above 0, makes input offsets[i]
    factors[i] * number; all other inputs are 0.
    Raises MemoryError, and ValueError for what it cannot build.

    In all passes: inputs is (address, whether uint8, numbers from row to row, address of int64[horizon, rows] sample indices or 0);
    states is (hidden, cell, hidden after, cell after, starts): addresses of float32[rows, cells, width], MinGRU has no cell, the
    second pair may be 0; starts uint8[horizon, rows] or 0. outputs: address of float32[horizon, rows, outputs], or 0.
    """

    cdef DenseNet net

    def __cinit__(self, list widths, int outputs, str cell="", int cells=0, int threads=1, str instructions="", tuple codes=(0, 0, 0)):
        cdef int i
        memset(&self.net, 0, sizeof(self.net))
        sizes = [*widths, outputs]
        if not 2 <= len(widths) <= DENSE_MAX_LAYERS + 1 or not all(1 <= width <= DENSE_MAX_WIDTH for width in sizes):
            raise ValueError(f"widths must be 2 to {DENSE_MAX_LAYERS + 1} numbers in [1, {DENSE_MAX_WIDTH}], got {sizes}")
        if threads < 1:
            raise ValueError(f"threads must be at least 1, got {threads}")
        if cell and (cell not in CELLS or not 1 <= cells <= DENSE_MAX_CELLS or (cell == "lstm" and cells > 1)):
            raise ValueError(f"a memory is one lstm or 1 to {DENSE_MAX_CELLS} mingru cells, got {cells} {cell!r}")
        if cell and (widths[-1] % DENSE_PAD or widths[-1] * CELLS[cell] > DENSE_MAX_WIDTH):
            raise ValueError(f"a cell's width must be a multiple of {DENSE_PAD} and not too wide, got {widths[-1]}")
        self.net.set = dense_set(instructions.encode())
        if not self.net.set:
            raise ValueError(f"instructions {instructions!r}: this machine does not have them; \"plain\" works everywhere")
        self.net.layers, self.net.cells, self.net.shares = len(widths) - 1, cells if cell else 0, threads
        for i in range(self.net.layers):
            self.net.layer[i].inputs, self.net.layer[i].outputs = widths[i], widths[i + 1]
        for i in range(self.net.cells):
            self.net.cell[i].kind, self.net.cell[i].width = CELLS[cell], widths[-1]
            self.net.cell[i].input.inputs = widths[-1]
        self.net.head.inputs, self.net.head.outputs = widths[-1], outputs
        self.net.codes.count = codes[0]
        self.net.codes.offsets, self.net.codes.factors = <const int64_t *> <size_t> codes[1], <const float *> <size_t> codes[2]
        if dense_open(&self.net) != 0:
            raise MemoryError(f"no memory for layers of widths {sizes}")

    def __dealloc__(self):
        dense_close(&self.net)

    cdef list parts(self):
        """Where the weights' addresses go, in the order of `load` and `gradient`."""
        cdef int i
        found = [<size_t> &self.net.layer[i] for i in range(self.net.layers)]
        for i in range(self.net.cells):
            found.append(<size_t> &self.net.cell[i].input)
            if self.net.cell[i].kind == DENSE_LSTM:
                found.append(<size_t> &self.net.cell[i].hidden)
        return [*found, <size_t> &self.net.head]

    def load(self, list weights, list biases, size_t scale, size_t mean, size_t factor):
        """Take over weights, for all passes until the next call: addresses of weights [outputs, inputs] and biases of all layers,
        of each cell's input and, in an LSTM, hidden weights, of the head. And of three float32[widths[0]] or 0: the first layer
        reads (x * scale - mean) * factor. `scale` and, for `gradient`, the other two are read later, too."""
        cdef DenseLayer *layer
        for part, weight, bias in zip(self.parts(), weights, biases, strict=True):
            layer = <DenseLayer *> <size_t> part
            layer.weight, layer.bias = <const float *> <size_t> weight, <const float *> <size_t> bias
        self.net.scale = <const float *> scale
        self.net.standard.mean, self.net.standard.factor = <const float *> mean, <const float *> factor
        with nogil:
            dense_load(&self.net)

    cdef DensePass over(self, tuple inputs, tuple states, size_t horizon, size_t rows):
        cdef DensePass made
        memset(&made, 0, sizeof(made))
        made.net, made.horizon, made.rows = &self.net, horizon, rows
        made.inputs = <const void *> <size_t> inputs[0]
        made.bytes, made.row_numbers, made.samples = inputs[1], inputs[2], <const int64_t *> <size_t> inputs[3]
        if states:
            made.hidden, made.cell = <const float *> <size_t> states[0], <const float *> <size_t> states[1]
            made.hidden_after, made.cell_after = <float *> <size_t> states[2], <float *> <size_t> states[3]
            made.starts = <const uint8_t *> <size_t> states[4]
        elif self.net.cells:
            raise ValueError("a network with memory needs states")
        return made

    cdef run(self, DensePass *made):
        cdef int failed
        with nogil:
            failed = dense_run(made)
        if failed:
            raise MemoryError("no memory or threads for a pass over a network")

    def forward(self, tuple inputs, tuple states, size_t horizon, size_t rows, size_t outputs):
        """Only the outputs, and the states after the last step."""
        cdef DensePass made = self.over(inputs, states, horizon, rows)
        made.outputs = <float *> outputs
        self.run(&made)

    def backward(self, tuple inputs, tuple states, size_t horizon, size_t rows, size_t d_outputs):
        """Make the gradients for d_outputs float32[horizon, rows, outputs]; `gradient` hands them out."""
        cdef DensePass made = self.over(inputs, states, horizon, rows)
        made.d_outputs = <const float *> d_outputs
        self.run(&made)

    def ppo(self, tuple inputs, tuple states, size_t horizon, tuple given, size_t outputs, size_t ratios, size_t stats):
        """Losses of a minibatch (`given` as in _ppo.pxd, of horizon * rows samples) and the gradients. The last output is the
        value, those before it logits."""
        cdef PufferPPO ppo = ppo_of(given)
        cdef DensePass made = self.over(inputs, states, horizon, ppo.rows // horizon)
        made.ppo, made.outputs, made.ratios = &ppo, <float *> outputs, <float *> ratios
        self.run(&made)
        puffer_ppo_stats(&ppo, &made.sums[0], <float *> stats)

    def gradient(self, int index, size_t d_weight, size_t d_bias):
        """Write the last pass's gradients of part `index`, in the order of `load`."""
        dense_gradient(&self.net, index, <float *> d_weight, <float *> d_bias)
