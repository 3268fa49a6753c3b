import StratusRecords
import StratusWire

/// The people who ask for access to a share, and those who may not ask.
///
/// Stored in a row: the byte 1 when requests are allowed, else 0; the number of those who ask as four bytes, and of
/// each the JSON, counted; the same for those who are blocked.
struct AccessRequests: Hashable, Sendable {
    var areAllowed = false
    /// The people who ask, the longest waiting first; each has a user record name.
    var requesters: [UserIdentityDictionary] = []
    /// The people who may not ask, with their user record names.
    var blocked: [UserIdentityDictionary] = []

    var isEmpty: Bool { self == AccessRequests() }

    func isBlocked(_ user: String) -> Bool {
        blocked.contains { $0.userRecordName == user }
    }

    /// Adds a request.
    ///
    /// A blocked person gets the same answer as everyone else, and so does not learn of the block.
    ///
    /// - Returns: Whether anything changed: one person has one request.
    /// - Throws: ``ServiceError`` when the share takes no requests, or has too many.
    mutating func take(_ person: ParticipantIdentity, limit: Int) throws -> Bool {
        guard areAllowed else { throw ServiceError.shareNotFound }
        let name = person.userRecordName
        if requesters.contains(where: { $0.userRecordName == name }) { return false }
        guard requesters.count < limit else {
            throw ServiceError.tooManyAccessRequests(limit: limit)
        }
        guard !isBlocked(name) else { return false }
        requesters.append(person.dictionary)
        return true
    }

    /// Removes a person's request.
    mutating func remove(_ user: String) {
        requesters.removeAll { $0.userRecordName == user }
    }
}

extension AccessRequests {
    init(_ reader: inout ByteReader) throws {
        areAllowed = try reader.byte() == 1
        requesters = try Self.people(&reader)
        blocked = try Self.people(&reader)
    }

    private static func people(_ reader: inout ByteReader) throws -> [UserIdentityDictionary] {
        let count: UInt32 = try reader.number()
        var people: [UserIdentityDictionary] = []
        for _ in 0..<count { people.append(try readWire(from: try reader.counted())) }
        return people
    }

    func write(to writer: inout ByteWriter) {
        writer.write(areAllowed ? 1 : 0 as UInt8)
        for people in [requesters, blocked] {
            writer.write(number: UInt32(people.count))
            for person in people { writer.write(counted: wireBytes(of: person)) }
        }
    }
}
