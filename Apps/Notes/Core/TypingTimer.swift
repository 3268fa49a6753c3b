import StratusRuntime

/// Combines typing into one save: the first key starts the timer, and everything typed until it
/// fires is saved together.
actor TypingTimer {
    private let seconds: Double
    private let world: World
    private let save: @Sendable () async -> Void
    private var running: Task<Void, Never>?

    init(seconds: Double, world: World, save: @escaping @Sendable () async -> Void) {
        self.seconds = seconds
        self.world = world
        self.save = save
    }

    /// A key was pressed.
    func touch() {
        guard running == nil else { return }
        running = world.startTask("typing timer") { [weak self, world, seconds] in
            // Cancelled when the app closes; closing saves by itself.
            guard (try? await world.sleep(seconds)) != nil else { return }
            await self?.fire()
        }
    }

    func stop() {
        running?.cancel()
        running = nil
    }

    private func fire() async {
        // Before the save: what is typed from now on needs another one.
        running = nil
        await save()
    }
}
