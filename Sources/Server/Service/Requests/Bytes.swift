import StratusRecords

/// Writes the service's own small binary formats: big-endian numbers, counted strings.
struct ByteWriter {
    private(set) var bytes: [UInt8] = []

    mutating func write(_ byte: UInt8) {
        bytes.append(byte)
    }

    mutating func write<Number: FixedWidthInteger>(number: Number) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }

    /// Writes a number in as few bytes as it needs: seven bits per byte, the lowest first, with the eighth bit set in
    /// all but the last byte.
    mutating func write(compact number: Int64) {
        var rest = UInt64(bitPattern: number)
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func write(raw: [UInt8]) {
        bytes.append(contentsOf: raw)
    }

    mutating func write(counted: some Collection<UInt8>) {
        write(number: UInt32(counted.count))
        bytes.append(contentsOf: counted)
    }

    mutating func write(_ string: String) {
        write(counted: string.utf8)
    }

    mutating func write(_ string: String?) {
        write(string == nil ? 0 : 1 as UInt8)
        if let string { write(string) }
    }
}

extension ByteWriter {
    /// Writes the beginning of an event in an outbox: where something changed, and who changed it.
    mutating func write(zoneName: String, user: String, device: String) {
        write(zoneName)
        write(user)
        write(device)
    }

    /// Writes the number of elements as four bytes, then each.
    mutating func write<Elements: Collection>(
        all elements: Elements, _ write: (inout ByteWriter, Elements.Element) -> Void
    ) {
        self.write(number: UInt32(elements.count))
        for element in elements { write(&self, element) }
    }
}

/// Reads what ``ByteWriter`` wrote.
struct ByteReader {
    /// The bytes end too early or are not valid.
    struct Malformed: Error {}

    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        self.init(bytes[...])
    }

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func byte() throws(Malformed) -> UInt8 {
        guard let byte = rest.popFirst() else { throw Malformed() }
        return byte
    }

    /// Reads the next byte and checks that it has this value, such as a format's.
    mutating func expect(_ expected: UInt8) throws(Malformed) {
        guard try byte() == expected else { throw Malformed() }
    }

    mutating func raw(_ count: Int) throws(Malformed) -> [UInt8] {
        guard rest.count >= count else { throw Malformed() }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func number<Number: FixedWidthInteger>() throws(Malformed) -> Number {
        try raw(MemoryLayout<Number>.size).reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
    }

    mutating func compact() throws(Malformed) -> Int64 {
        var number: UInt64 = 0
        for shift in stride(from: 0, to: UInt64.bitWidth, by: 7) {
            let byte = try byte()
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return Int64(bitPattern: number) }
        }
        throw Malformed()
    }

    mutating func counted() throws(Malformed) -> [UInt8] {
        let count: UInt32 = try number()
        return try raw(Int(count))
    }

    mutating func string() throws(Malformed) -> String {
        String(decoding: try counted(), as: UTF8.self)
    }

    mutating func optionalString() throws(Malformed) -> String? {
        try byte() == 0 ? nil : try string()
    }

    mutating func environment() throws(Malformed) -> ContainerEnvironment {
        guard let environment = ContainerEnvironment(rawValue: try string()) else {
            throw Malformed()
        }
        return environment
    }
}
