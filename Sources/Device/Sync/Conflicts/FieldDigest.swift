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

    /// Zero and NaN are each hashed in one form.
    mutating func add(_ number: Double) {
        let plain = number.isNaN ? .nan : number == 0 ? 0 : number
        add(Int64(bitPattern: plain.bitPattern))
    }

    mutating func add(_ reference: Reference) {
        add(reference.recordName.utf8)
        add((reference.zoneID?.name ?? "").utf8)
    }

    mutating func add(_ asset: AssetReceipt) {
        // Only the checksum: what the service adds to an asset does not change its value.
        add((asset.fileChecksum ?? "").utf8)
        add(asset.sizeBytes ?? 0)
    }

    mutating func add(_ place: Location) {
        add(place.latitude)
        add(place.longitude)
    }
}

extension Field {
    /// A hash of the field's name and value.
    package var digest: UInt64 {
        var digest = FieldDigest()
        digest.add(name.utf8)
        if let value { value.add(to: &digest) }
        // Mixed, so that all bits of the hash are equally good; FNV's low bits are its best.
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
    /// The field with a name; nil when it has no value.
    package func field(_ name: String) -> Field? { fields.first { $0.name == name } }

    /// Copies a field, or its absence, from another record.
    package mutating func replace(_ name: String, from other: RecordSnapshot) {
        if let field = other.field(name) { set(field) } else { self[name] = nil }
    }
}

extension RecordSnapshot.SystemFields {
    /// Whether these belong to different records of the same name: one was created after the other
    /// was deleted.
    package func isOfAnotherRecord(than other: RecordSnapshot.SystemFields) -> Bool {
        guard let created = createdMilliseconds, let otherCreated = other.createdMilliseconds else {
            return false
        }
        guard created == otherCreated else { return true }
        // Some states have the date but not the creator.
        guard let creator = creatorRecordName, let otherCreator = other.creatorRecordName else {
            return false
        }
        return creator != otherCreator
    }
}

extension RecordSnapshot {
    /// Whether two states belong to different records of the same name, if both have a creation
    /// date.
    package func isOfAnotherRecord(than other: RecordSnapshot) -> Bool {
        guard let system, let otherSystem = other.system else { return false }
        return system.isOfAnotherRecord(than: otherSystem)
    }
}
