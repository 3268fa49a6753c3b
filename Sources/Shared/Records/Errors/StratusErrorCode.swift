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

    /// The record has a type or field that the production schema does not have. Save one in development, then deploy
    /// the schema.
    public static let notInProductionSchema = Self(rawValue: 1_003)

    /// A person's sign-in is refused, for a wrong password for example. ``ServiceError/reason`` says why and what to
    /// do; the app's tokens are not the cause.
    public static let signInRefused = Self(rawValue: 1_004)
}
