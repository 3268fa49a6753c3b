import Foundation

/// A place in a change feed: of one zone, or of one database. Opaque, archivable, made by the
/// service.
public final class CKServerChangeToken: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The service's own text.
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

    public func encode(with coder: NSCoder) {
        coder.archive(text, "text")
    }

    public init?(coder: NSCoder) {
        guard let text = coder.archivedString("text") else { return nil }
        self.text = text
    }
}
