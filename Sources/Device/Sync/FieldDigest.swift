import StratusRecords

/// FNV-1a over 64 bits: the same in every process and on every device.
struct FieldDigest {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        value = (value ^ 0xFF) &* 0x0000_0100_0000_01B3
    }

    mutating func add(_ number: Int64) {
        withUnsafeBytes(of: number.littleEndian) { add($0) }
    }

    /// Zero has one form, and so has what is no number.
    mutating func add(_ number: Double) {
        let plain = number.isNaN ? .nan : number == 0 ? 0 : number
        add(Int64(bitPattern: plain.bitPattern))
    }

    mutating func add(_ reference: Reference) {
        add(reference.recordName.utf8)
        add((reference.zoneID?.name ?? "").utf8)
    }

    mutating func add(_ asset: AssetReceipt) {
        // What the service adds to an asset is no other value.
        add((asset.fileChecksum ?? "").utf8)
        add(asset.sizeBytes ?? 0)
    }

    mutating func add(_ place: Location) {
        add(place.latitude)
        add(place.longitude)
    }
}

extension Field {
    /// A number that two fields of the same name and value share, and others hardly ever do.
    package var digest: UInt64 {
        var digest = FieldDigest()
        digest.add(name.utf8)
        if let value { value.add(to: &digest) }
        // FNV's low bits are its best: mixed, so that every part of it is as good.
        var mixed = digest.value
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

extension FieldValue {
    fileprivate func add(to digest: inout FieldDigest) {
        switch self {
        case .string(let text): digest.add(text.utf8)
        case .int64(let number): digest.add(number)
        case .double(let number): digest.add(number)
        case .timestamp(let milliseconds, _): digest.add(milliseconds)
        case .bytes(let bytes): digest.add(bytes)
        case .location(let place): digest.add(place)
        case .reference(let reference): digest.add(reference)
        case .asset(let asset): digest.add(asset)
        case .stringList(let list): for text in list { digest.add(text.utf8) }
        case .int64List(let list): for number in list { digest.add(number) }
        case .doubleList(let list): for number in list { digest.add(number) }
        case .timestampList(let list, _): for milliseconds in list { digest.add(milliseconds) }
        case .bytesList(let list): for bytes in list { digest.add(bytes) }
        case .locationList(let list): for place in list { digest.add(place) }
        case .referenceList(let list): for reference in list { digest.add(reference) }
        case .assetList(let list): for asset in list { digest.add(asset) }
        case .emptyList: break
        }
    }
}

extension RecordSnapshot {
    /// A field with all that belongs to it; nil when it has no value.
    package func field(_ name: String) -> Field? { fields.first { $0.name == name } }

    /// Takes a field over from another record, or its absence.
    package mutating func replace(_ name: String, from other: RecordSnapshot) {
        if let field = other.field(name) { set(field) } else { self[name] = nil }
    }

    /// Stands for what a field is here, also when it is absent.
    package func mark(ofField name: String) -> UInt64 {
        (field(name) ?? Field(name: name, value: nil)).digest
    }

    /// Stands for the parent.
    package var parentMark: UInt64 {
        Field(name: "\u{1}parent", value: parentRecordName.map { .string($0) }).digest
    }

    /// The marks of fields, and of the parent, that another record has otherwise.
    package func marks(ofFieldsThatDifferFrom other: RecordSnapshot) -> [UInt64] {
        let names = Set((fields + other.fields).map(\.name)).sorted()
        var marks = names.filter { field($0) != other.field($0) }.map { mark(ofField: $0) }
        if parentRecordName != other.parentRecordName { marks.append(parentMark) }
        return marks
    }
}

extension RecordSnapshot.SystemFields {
    /// Whether another record of the same name is meant: one was made after the other was deleted.
    package func isOfAnotherRecord(than other: RecordSnapshot.SystemFields) -> Bool {
        guard let created = createdMilliseconds, let otherCreated = other.createdMilliseconds else {
            return false
        }
        guard created == otherCreated else { return true }
        // Not everything that knows the date knows who it was.
        guard let creator = creatorRecordName, let otherCreator = other.creatorRecordName else {
            return false
        }
        return creator != otherCreator
    }
}

extension RecordSnapshot {
    /// The same of two states of a record, as far as both say when they were made.
    package func isOfAnotherRecord(than other: RecordSnapshot) -> Bool {
        guard let system, let otherSystem = other.system else { return false }
        return system.isOfAnotherRecord(than: otherSystem)
    }
}
