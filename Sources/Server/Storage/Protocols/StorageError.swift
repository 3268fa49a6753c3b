/// Why the store could not do what it was asked.
public struct StorageError: Error, Sendable {
    /// The kind of trouble. The set is open.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public var rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The disk is full. Nothing was lost; the service must stop until there is room.
        public static let diskFull = Self(rawValue: "diskFull")
        /// The data folder cannot be written.
        public static let notWritable = Self(rawValue: "notWritable")
        /// Another process has the data folder.
        public static let inUse = Self(rawValue: "inUse")
        /// The files were written by a newer version, or are no files of ours.
        public static let unknownFormat = Self(rawValue: "unknownFormat")
        /// The file is damaged.
        public static let corrupt = Self(rawValue: "corrupt")
        /// Too many writes wait for this database, or too many files are open; ask again later.
        public static let busy = Self(rawValue: "busy")
        /// The store was closed.
        public static let closed = Self(rawValue: "closed")
        /// There is no room for an asset; what was written of it is removed, and the service goes on.
        public static let noRoom = Self(rawValue: "noRoom")
        /// Anything else that SQL reported.
        public static let other = Self(rawValue: "other")
    }

    public var code: Code
    /// A constant sentence that says what to do.
    public var message: String
    /// The file or folder in question.
    public var path: String?
    public var underlying: (any Error)?

    public init(
        _ code: Code, _ message: String, path: String? = nil, underlying: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.path = path
        self.underlying = underlying
    }

    /// Whether the service should stop rather than go on refusing: the disk needs a person.
    public var stopsService: Bool {
        [.diskFull, .notWritable, .corrupt, .unknownFormat].contains(code)
    }
}
