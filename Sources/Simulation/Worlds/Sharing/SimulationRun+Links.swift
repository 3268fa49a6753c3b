import StratusCache
import StratusClient

extension SimulationRun {
    /// How often a device opens a link that met a fault.
    private static let openings = 3

    /// Opens the link of the zone that is shared from the beginning. Its owner and the users who have joined stay what
    /// they are; users who have left do not open it.
    func openLink(_ number: Int) throws {
        let device = devices[number]
        let user = device.user
        guard let url = shareURL, !strangers.contains(user) else { return }
        let cache = try device.opened()
        links.begin(user)
        _ = device.world.startTask("script open link") { [links, world = device.world] in
            for _ in 0..<Self.openings where !links.isClosed {
                do {
                    try await cache.acceptShare(at: url)
                    break
                } catch {
                    // A request met a fault: the link is opened again, unless the world ends.
                    try? await world.sleep(20)
                }
            }
            links.end(user)
        }
    }
}
