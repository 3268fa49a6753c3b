import Foundation

/// A position in the change feed of a zone or database. Opaque, made by the service; can be
/// archived.
///
/// ```swift
/// var token: CKServerChangeToken?  // kept between starts of the app
/// var isMoreComing = true
/// while isMoreComing {
///     let page = try await database.recordZoneChanges(inZoneWith: trail.recordID.zoneID, since: token)
///     for (id, result) in page.modificationResultsByID { show(id, result.map(\.record)) }
///     token = page.changeToken
///     isMoreComing = page.moreComing
/// }
/// ```
public final class CKServerChangeToken: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The token's text, which only the service interprets.
    package let text: String

    package init(text: String) {
        self.text = text
    }

    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKServerChangeToken).map { $0.text == text } ?? false
    }

    public override var hash: Int { text.hashValue }

    public override var description: String { "<CKServerChangeToken: \(text)>" }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public static var supportsSecureCoding: Bool { true }

    public func encode(with coder: NSCoder) { coder.archive(text, "text") }

    public init?(coder: NSCoder) {
        guard let text = coder.archivedString("text") else { return nil }
        self.text = text
    }
}
