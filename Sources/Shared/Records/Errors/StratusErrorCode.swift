/// A code of this service for which neither the protocol nor CloudKit's framework has one.
///
/// In JSON it is a `stratusErrorCode` above all raw values of ``FrameworkErrorCode``. A client that does not know it
/// uses the protocol's own code.
public struct StratusErrorCode: RawRepresentable, Hashable, Sendable {
    public var rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The file of the requested database is damaged. Other databases are served; this one will be when its file is
    /// repaired or replaced.
    public static let databaseDamaged = Self(rawValue: 1_001)

    /// The service's disk is full: records can be read and deleted, but not saved.
    public static let diskFull = Self(rawValue: 1_002)
}
