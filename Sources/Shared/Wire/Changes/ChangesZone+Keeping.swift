import StratusRecords

extension ChangesZone {
    /// Reads pages; if a zone of the request asks for it, with fields as a device keeps them.
    public static func answer(
        to request: Request, from bytes: UnsafeRawBufferPointer
    ) throws(WireError) -> Answer {
        guard request.zones.contains(where: \.keepsFields) else { return try readWire(from: bytes) }
        return try JSONDocument(parsing: bytes).withRoot { (root) throws(WireError) in
            Answer(try root.list("zones") { (zone) throws(WireError) in try result(zone) })
        }
    }

    private static func result(_ zone: JSONNode) throws(WireError) -> Result {
        if ServiceError.isError(zone) { return .failure(try ZoneFailure(wire: zone)) }
        var page = Page(
            zoneID: try zone.required("zoneID"),
            records: try zone.list("records") { (record) throws(WireError) in
                try RecordResult(wire: record, keepsFields: true)
            },
            syncToken: try zone.required("syncToken"),
            moreComing: try zone.optional("moreComing") ?? false)
        page.remainingChanges = try zone.optional("remainingChanges")
        return .success(page)
    }
}

extension JSONNode {
    /// Reads the elements of a member that must be an array.
    fileprivate func list<Value>(
        _ key: StaticString, _ read: (JSONNode) throws(WireError) -> Value
    ) throws(WireError) -> [Value] {
        guard let list = self[key], list.isArray else {
            throw WireError("An array is required.", at: key.description)
        }
        var values: [Value] = []
        values.reserveCapacity(list.count)
        for element in list.elements {
            do {
                values.append(try read(element))
            } catch {
                throw error.within(index: values.count).within(key)
            }
        }
        return values
    }
}
