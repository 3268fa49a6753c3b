import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import Testing

@testable import StratusService

/// Ida shares a trail that accepts access requests; Di is invited to it. Bo, Cy and Eve are not.
struct AccessRequestTrip: SharedTrip {
    let people: Travellers
    let link: String

    init(
        _ storage: any StorageEngine = SQLiteStorageEngine.inMemory(world: .seeded(7)),
        allows: Bool? = true, limits: Limits = Limits()
    ) async throws {
        people = try await Travellers(World(storage, limits: limits))
        let (ida, di) = (people.ida, people.di)
        var operation = share(
            .create, "S", of: "trail", participants: [invited(di, .readWrite)])
        operation.record.share?.allowsAccessRequests = allows
        let made = try await ida.modify(
            [hut(.create, "trail"), hut(.create, "hut", parent: .some("trail")), operation],
            in: "Trips")
        link = try #require(made[2].record?.shortGUID)
    }

    /// The share as the owner sees it.
    func stored() async throws -> RecordDictionary {
        try #require(try await ida.lookup(["S"], in: "Trips")[0].record)
    }

    /// The users who asked for access, as the owner sees them.
    func requesters() async throws -> [String?] {
        try await stored().share?.accessRequesters?.map(\.userRecordName) ?? []
    }

    /// Saves the share as the owner, or as another user.
    @discardableResult
    func save(
        as person: Person? = nil, _ change: (inout ShareDictionary) -> Void
    ) async throws -> RecordResult {
        var operation = share(.forceUpdate, "S")
        var dictionary = ShareDictionary()
        change(&dictionary)
        operation.record.share = dictionary
        return try await (person ?? ida).modify(
            [operation], in: person == nil ? zone("Trips") : trips,
            scope: person == nil ? .private : .shared)[0]
    }

    /// Blocks another user.
    @discardableResult
    func block(_ person: Person) async throws -> RecordResult {
        let blocked = try await stored().share?.blockedIdentities ?? []
        return try await save {
            $0.blockedIdentities =
                blocked + [UserIdentityDictionary(userRecordName: person.name)]
        }
    }
}

extension Person {
    /// Asks for access.
    ///
    /// - Returns: The error if the request was refused.
    func requestAccess(_ link: String, token: String? = nil) async throws -> ServiceError? {
        try await ask(
            RecordsRequestAccess.self,
            .init([.init(value: link, oneTimeToken: token)]), in: .public
        ).items[0].error
    }
}

extension AccessRequestResult {
    var error: ServiceError? { if case .failure(let failure) = self { failure.error } else { nil } }
}
