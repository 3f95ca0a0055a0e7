//! The known data sets, and the checksums of their files.

/// A data set that anyone may download.
#[derive(Debug)]
pub(crate) struct DataSet {
    pub(crate) name: &'static str,
    /// The address that file names are appended to.
    pub(crate) base: &'static str,
    pub(crate) files: &'static [RemoteFile],
    /// If the only file is an archive: the files to extract, and their sizes.
    pub(crate) unpacked: &'static [(&'static str, u64)],
    /// The value of `data.source`.
    pub(crate) source: &'static str,
    /// The value of `data.path`, in the data set's folder.
    pub(crate) path: &'static str,
    /// A recipe that trains on it.
    pub(crate) recipe: &'static str,
}

impl DataSet {
    /// The size of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().filter_map(|file| file.bytes).sum()
    }
}

/// A file on a server.
#[derive(Debug)]
pub(crate) struct RemoteFile {
    pub(crate) name: &'static str,
    /// None if only the server knows.
    pub(crate) bytes: Option<u64>,
    /// In lower-case hexadecimal; whole, or its beginning.
    pub(crate) sha256: &'static str,
}

const fn file(name: &'static str, bytes: u64, sha256: &'static str) -> RemoteFile {
    RemoteFile { name, bytes: Some(bytes), sha256 }
}

static ALL: [DataSet; 4] = [
    DataSet {
        name: "mnist",
        base: "https://ossci-datasets.s3.amazonaws.com/mnist/", // torchvision's mirror
        files: &[
            file(
                "train-images-idx3-ubyte.gz",
                9_912_422,
                "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            ),
            file(
                "train-labels-idx1-ubyte.gz",
                28_881,
                "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            ),
            file(
                "t10k-images-idx3-ubyte.gz",
                1_648_877,
                "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            ),
            file(
                "t10k-labels-idx1-ubyte.gz",
                4_542,
                "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
            ),
        ],
        unpacked: &[],
        source: "idx",
        path: "",
        recipe: "cnn",
    },
    DataSet {
        name: "fashion-mnist",
        base: "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
        files: &[
            file(
                "train-images-idx3-ubyte.gz",
                26_421_880,
                "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
            ),
            file(
                "train-labels-idx1-ubyte.gz",
                29_515,
                "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
            ),
            file(
                "t10k-images-idx3-ubyte.gz",
                4_422_102,
                "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
            ),
            file(
                "t10k-labels-idx1-ubyte.gz",
                5_148,
                "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
            ),
        ],
        unpacked: &[],
        source: "idx",
        path: "",
        recipe: "cnn",
    },
    DataSet {
        name: "cifar10",
        base: "https://www.cs.toronto.edu/~kriz/",
        files: &[file(
            "cifar-10-binary.tar.gz",
            170_052_171,
            "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
        )],
        unpacked: &[
            ("batches.meta.txt", 61),
            ("data_batch_1.bin", 30_730_000),
            ("data_batch_2.bin", 30_730_000),
            ("data_batch_3.bin", 30_730_000),
            ("data_batch_4.bin", 30_730_000),
            ("data_batch_5.bin", 30_730_000),
            ("test_batch.bin", 30_730_000),
        ],
        source: "cifar10",
        path: "",
        recipe: "resnet",
    },
    DataSet {
        name: "tiny-shakespeare",
        base: "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/",
        files: &[file(
            "input.txt",
            1_115_394,
            "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
        )],
        unpacked: &[],
        source: "text",
        path: "input.txt",
        recipe: "lstm-char",
    },
];

/// The data set of a name.
pub(crate) fn find(name: &str) -> Option<&'static DataSet> {
    ALL.iter().find(|set| set.name == name)
}

/// The names of all data sets.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|set| set.name)
}
