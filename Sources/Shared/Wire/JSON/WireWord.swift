import StratusRecords

/// A word of a fixed set of the protocol, such as `PER_ZONE`.
public protocol WireWord: RawRepresentable<String>, WireReadable, WireWritable {
    /// Reads the word in any form in which it may be sent, also the spelling of other clients; nil
    /// for any other.
    init?(word: String)
}

extension WireWord {
    public init?(word: String) { self.init(rawValue: word) }

    public init(wire node: JSONNode) throws(WireError) {
        guard let word = Self(word: try String(wire: node)) else {
            throw WireError(
                "The protocol does not know this word; Documentation/Wire.md lists those of each key."
            )
        }
        self = word
    }

    /// Writes the raw value, as a string.
    public func write(to writer: inout JSONWriter) { writer.string(rawValue) }
}

extension ContainerEnvironment: WireWord {}
extension ZoneEncryptionScope: WireWord {}
