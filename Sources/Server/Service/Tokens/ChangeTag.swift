import StratusStorage

/// Identifies one state of one record.
///
/// The zone's version at the last change of the record's content, in base 36, and four digits for the epoch in which
/// the version was taken: a tag of a lost history differs from the tag of the change that took the same version again.
struct ChangeTag {
    let text: String

    init(version: Int64, epoch: Epoch) {
        text = String(version, radix: 36) + "." + Self.mark(of: epoch)
    }

    private static func mark(of epoch: Epoch) -> Substring {
        let digits = 1_679_616  // 36 to the 4
        let mark = Int(epoch.identifier % UInt64(digits)) + digits
        return String(mark, radix: 36).dropFirst()
    }

    /// Whether a tag was made in an epoch, as far as its four digits tell.
    static func isTag(_ text: String, of epoch: Epoch) -> Bool {
        text.hasSuffix("." + mark(of: epoch))
    }

    /// The version in a tag's text; nil when it is not one of this service's.
    static func version(of text: String) -> Int64? {
        text.firstIndex(of: ".").flatMap { Int64(text[..<$0], radix: 36) }
    }
}
