/// A code of this service that neither the protocol nor CloudKit's framework has a word for.
///
/// In JSON it is a `stratusErrorCode` above all raw values of ``FrameworkErrorCode``. A client that does
/// not know it goes by the protocol's own code.
public struct StratusErrorCode: RawRepresentable, Hashable, Sendable {
    public var rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Something is wrong with the file of the database that was asked for. Others are served; this one
    /// will be once its file was repaired or replaced.
    public static let databaseDamaged = Self(rawValue: 1_001)

    /// The service's disk is full: what is stored can be read and deleted, and nothing is added.
    public static let diskFull = Self(rawValue: 1_002)
}
