import StratusRecords
import StratusService
import StratusWire
import Testing

/// Ida shares a trail with a hut; Bo is invited to write, Cy to read.
struct SharedDatabaseTrip: SharedTrip {
    let people: Travellers
    let link: String

    init(permission: SharePermission = .none, limits: Limits = Limits()) async throws {
        people = try await Travellers(World(limits: limits))
        let (ida, cy) = (people.ida, people.cy)
        let made = try await ida.modify(
            [
                hut(.create, "trail", [beds(1)]),
                hut(.create, "hut", [beds(2)], parent: .some("trail")),
                hut(.create, "diary", [beds(3)]),
                share(
                    .create, "S", of: "trail", permission: permission,
                    participants: [invited("Bo@example.org", .readWrite), invited(cy)]),
            ], in: "Trips")
        link = try #require(made[3].record?.shortGUID)
    }

    func join(_ people: Person...) async throws {
        for person in people {
            let result = try await person.accept(link)
            #expect(result.metadata?.participantStatus == .accepted)
        }
    }
}
