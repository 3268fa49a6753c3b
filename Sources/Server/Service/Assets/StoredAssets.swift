import StratusRecords
import StratusStorage
import StratusWire

/// Finds the assets in a record's stored fields without reading the fields.
///
/// An asset is stored with the name of its blob where the wire has a receipt; no client ever sees it, and what a client
/// sends there is never stored. In normalised JSON the bytes `"receipt":"` cannot mean anything else: inside a string
/// the quotation marks would be escaped, and the value of a field with that name is an object. The file's name may
/// follow. So a record without assets costs one search for these bytes, and in an answer each blob name is replaced by
/// an address without parsing the rest.
enum StoredAssets {
    private static let marker = Array(#""receipt":""#.utf8)
    /// The separator between the blob's name and the file's, which is percent-encoded.
    private static let nameMarker = Array(#"","fileName":""#.utf8)
    private static let addressKey = Array(#""downloadURL":"#.utf8)
    private static let quotationMark = UInt8(ascii: "\"")

    /// The text of a blob in the stored value.
    static func text(of blob: BlobName) -> String {
        var writer = ByteWriter()
        writer.write(raw: blob.sha256)
        writer.write(number: blob.generation)
        return Base64.addressText(writer.bytes)
    }

    /// Reads what ``text(of:)`` wrote.
    static func blob(_ text: String) -> BlobName? {
        guard let bytes = Base64.bytes(addressText: text), bytes.count == 40 else { return nil }
        return BlobName(
            sha256: Array(bytes[..<32]),
            generation: bytes[32...].reduce(0) { $0 << 8 | UInt64($1) })
    }

    /// Whether a record's fields have assets.
    static func areIn(_ payload: [UInt8]) -> Bool {
        payload.withUnsafeBytes { firstMarker(in: $0, from: 0) } != nil
    }

    /// The blobs that a record's fields name, in their order.
    static func blobs(in payload: [UInt8]) -> [BlobName] {
        places(in: payload).compactMap { place in
            blob(String(decoding: payload[place.text], as: UTF8.self))
        }
    }

    /// The fields with an address in place of each blob's name; nil when there are no assets.
    ///
    /// - Parameter address: The address as a JSON string.
    static func addressed(
        _ payload: [UInt8], _ address: (BlobName, _ fileName: String?) -> [UInt8]
    ) -> [UInt8]? {
        let places = places(in: payload)
        guard !places.isEmpty else { return nil }
        var addressed: [UInt8] = []
        addressed.reserveCapacity(payload.count + 400 * places.count)
        var copied = 0
        for place in places {
            addressed += payload[copied..<place.start]
            copied = place.end
            guard let blob = blob(String(decoding: payload[place.text], as: UTF8.self)) else {
                // Not written by this service; an empty address at least reveals nothing.
                addressed += addressKey + [quotationMark, quotationMark]
                continue
            }
            addressed += addressKey
            addressed += address(
                blob, place.fileName.map { String(decoding: payload[$0], as: UTF8.self) })
        }
        addressed += payload[copied...]
        return addressed
    }

    private struct Place {
        /// The offset of the member.
        var start: Int
        /// The range of its value, without the quotation marks.
        var text: Range<Int>
        /// The same for the file's name.
        var fileName: Range<Int>?

        /// The offset of what follows.
        var end: Int { (fileName ?? text).upperBound + 1 }
    }

    private static func places(in payload: [UInt8]) -> [Place] {
        var places: [Place] = []
        payload.withUnsafeBytes { bytes in
            var offset = 0
            while let start = firstMarker(in: bytes, from: offset) {
                let first = start + marker.count
                guard let end = bytes[first...].firstIndex(of: quotationMark) else { return }
                var place = Place(start: start, text: first..<end)
                let name = end + nameMarker.count
                if bytes[end...].starts(with: nameMarker),
                    let nameEnd = bytes[name...].firstIndex(of: quotationMark)
                {
                    place.fileName = name..<nameEnd
                }
                places.append(place)
                offset = place.end
            }
        }
        return places
    }

    /// Finds the marker by Horspool's algorithm: most steps skip its whole length.
    private static func firstMarker(in bytes: UnsafeRawBufferPointer, from offset: Int) -> Int? {
        var end = offset + 10
        while end < bytes.count {
            switch bytes[end] {
            case UInt8(ascii: "\""):
                let start = end - 10
                if bytes[end - 1] == UInt8(ascii: ":"),
                    bytes[start..<end].elementsEqual(marker[..<10])
                {
                    return start
                }
                end += 2
            case UInt8(ascii: ":"): end += 1
            case UInt8(ascii: "t"): end += 3
            case UInt8(ascii: "p"): end += 4
            case UInt8(ascii: "i"): end += 5
            case UInt8(ascii: "e"): end += 6
            case UInt8(ascii: "c"): end += 7
            case UInt8(ascii: "r"): end += 9
            default: end += 11
            }
        }
        return nil
    }
}
