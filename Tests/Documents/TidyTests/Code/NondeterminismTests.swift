import Testing

/// Time, random numbers and tasks come from the `World` that a type was given, so that a test controls
/// all of them and can repeat a run exactly.
@Suite struct NondeterminismTests {
    enum Kind: String {
        case clock = "reads the clock"
        case uuid = "makes a UUID"
        case sleep = "sleeps"
        case random = "draws a random number"
        case task = "starts a task"
        case world = "uses the process's world"
    }

    /// Token sequences; the longer ones are calls whose shorter forms have other meanings.
    static let patterns: [(Kind, [String])] = [
        (.clock, ["Date", "(", ")"]), (.clock, ["Date", ".", "now"]),
        (.clock, ["Date", ".", "init", "(", ")"]), (.clock, ["Date", "(", "timeIntervalSinceNow"]),
        (.clock, ["ContinuousClock"]), (.clock, ["SuspendingClock"]), (.clock, ["systemUptime"]),
        (.clock, ["DispatchTime"]), (.clock, ["clock_gettime"]), (.clock, ["gettimeofday"]),
        (.uuid, ["UUID", "(", ")"]), (.uuid, ["UUID", ".", "init", "(", ")"]),
        (.sleep, ["Task", ".", "sleep"]), (.sleep, ["Thread", ".", "sleep"]), (.sleep, ["usleep"]),
        (.sleep, ["nanosleep"]), (.sleep, ["asyncAfter"]), (.sleep, ["scheduleTask"]),
        (.random, ["random", "(", "in"]), (.random, ["SystemRandomNumberGenerator"]),
        (.random, ["randomElement", "(", ")"]), (.random, ["shuffled", "(", ")"]),
        (.random, ["shuffle", "(", ")"]), (.random, ["SymmetricKey", "(", "size"]),
        (.random, ["Bool", ".", "random"]), (.random, ["getrandom"]), (.random, ["arc4random"]),
        (.task, ["Task", "{"]), (.task, ["Task", "("]), (.task, ["Task", ".", "detached"]),
        (.task, ["Task", ".", "immediate"]), (.world, ["World", ".", "live"]),
    ]

    /// Exceptions for good: the outermost layer, tests of concurrency itself, and Apple's declarations without a
    /// world.
    static let lasting: [Exception] =
        [Kind.clock, .sleep, .random, .task].map { kind in
            Exception(
                path: "Sources/Shared/Runtime/World.swift", about: kind.rawValue,
                reason: "The live world.")
        }
        + exceptions(
            .task, "The order of the tasks is what it examines.",
            ["Sources/Testing/StoreConformance/StoreConformance+Concurrency.swift"])
        + exceptions(
            .task, "The world of a test, whose tasks run on its own executor.",
            ["Sources/Testing/World/SeededWorld.swift"])
        + exceptions(
            .sleep, "A connection's timers belong to its event loop, which tests move on.",
            [
                "Sources/Server/Server/Connections/ByteCounter.swift",
                "Sources/Server/Server/Connections/StreamsChannel.swift",
            ])
        + exceptions(
            .sleep, "Opening a file blocks, and waits for the system's locks as SQLite does.",
            ["Sources/Device/Cache/File/DatabaseUse.swift"])
        + exceptions(
            .clock, "The default value of Apple's initializer.",
            ["Sources/Device/Location/CLLocation.swift"])
        + exceptions(
            .uuid, "Apple's initializer names its object, which has no connection yet.",
            [
                "Operations/CKAcceptSharesOperation",
                "Operations/CKDiscoverUserIdentitiesOperation",
                "Operations/CKFetchDatabaseChangesOperation",
                "Operations/CKFetchRecordZoneChangesOperation",
                "Operations/CKFetchRecordZonesOperation", "Operations/CKFetchRecordsOperation",
                "Operations/CKFetchShareMetadataOperation",
                "Operations/CKFetchShareParticipantsOperation",
                "Operations/CKFetchSubscriptionsOperation",
                "Operations/CKFetchWebAuthTokenOperation",
                "Operations/CKModifyRecordZonesOperation", "Operations/CKModifyRecordsOperation",
                "Operations/CKModifySubscriptionsOperation", "Operations/CKOperation",
                "Operations/CKOperationGroup", "Operations/CKQueryOperation",
                "Operations/CKShareRequestAccessOperation", "Records/CKRecordID",
                "Sharing/CKShareParticipant", "Sharing/ShareState",
                "Notifications/CKDatabaseSubscription", "Notifications/CKQuerySubscription",
                "Notifications/CKRecordZoneSubscription",
            ].map { "Sources/Device/Client/\($0).swift" })
        + exceptions(
            .random,
            "A user's key comes from the crypto library's random numbers, which no test replaces.",
            ["Sources/Device/Client/Encryption/AccountKey.swift"])
        + exceptions(
            .task, "An app's outermost layer.",
            [
                "Apps/OfflineNotes/main.swift",
                "Apps/Shopping/Core/ShoppingStore.swift",
                "Apps/Shopping/Terminal/Screen/TerminalScreen.swift",
                "Apps/Shopping/Terminal/ShoppingSession.swift",
            ])
        + exceptions(
            .world, "A program's outermost layer.",
            [
                "Apps/Notes/Terminal/NotesSession.swift",
                "Apps/Shopping/Terminal/ShoppingSession.swift",
                "Sources/Device/stratus-cache/StratusCacheCommand.swift",
                "Sources/Simulation/stratus-sim/Run.swift",
            ])
        + exceptions(
            .world, "It names a folder of its own outside the repeated run.",
            [
                "Sources/Simulation/Worlds/Files/WorldFolder.swift",
                "Sources/Simulation/Worlds/Mapping/MappedDevice.swift",
                "Sources/Testing/Cloud/TestCloud.swift",
            ])
        + exceptions(
            .world, "Foundation evaluates a predicate with an object alone.",
            ["Sources/Device/Client/Query/NSPredicate+Format.swift"])
        + exceptions(
            .random, "An app's outermost layer: the default value of an argument.",
            ["Apps/Shopping/Terminal/DeviceFolder.swift"])
        + exceptions(
            .uuid, "An app's outermost layer: the default value of an argument.",
            ["Apps/Shopping/Core/ShoppingStore.swift"])
        + exceptions(
            .clock, "An app's outermost layer.",
            [
                "Apps/Shopping/Core/ShoppingStore.swift",
                "Apps/Shopping/Terminal/ShoppingSession+Devices.swift",
            ])

    /// Tasks with a priority or a value, neither of which `World.startTask` has.
    static let deviceTasks =
        exceptions(
            .task, "It has the priority of its call or operation.",
            [
                "Sources/Device/Client/CompletionHandlers/ContainerCore+Calls.swift",
                "Sources/Device/Client/Operations/CKOperation.swift",
            ])
        + exceptions(
            .task, "Its value is awaited, by all requests that need the same sign-in.",
            ["Sources/Device/Client/Connection/WebAuthSession.swift"])

    private static func exceptions(
        _ kind: Kind, _ reason: String, _ paths: [String]
    ) -> [Exception] {
        paths.map { Exception(path: $0, about: kind.rawValue, reason: reason) }
    }

    static func violations(in file: SourceText) -> [Violation] {
        let code = file.code
        var found: [Violation] = []
        for index in code.indices where code[index].kind == .word {
            // A member or label of the same name.
            let isMember = index > 0 && code[index - 1].text == "."
            for (kind, pattern) in patterns where pattern[0] == code[index].text {
                if isMember, pattern[0].first?.isUppercase == true { continue }
                guard index + pattern.count <= code.count,
                    zip(pattern, code[index...]).allSatisfy({ $0 == $1.text })
                else { continue }
                let fault = kind == .world ? kind.rawValue : "\(kind.rawValue) past the world"
                found.append(
                    Violation(
                        path: file.path, line: code[index].line,
                        sentence:
                            "\(pattern.joined()) \(fault): take it as an argument, a World of "
                            + "StratusRuntime."))
            }
        }
        return found
    }

    @Test func sourcesUseTheInjectedClockRandomnessAndTasks() {
        expectNone(
            Repository.sources.flatMap(Self.violations),
            except: Self.lasting + Self.deviceTasks)
    }

    @Test func directUsesOfClockAndChanceAreFound() {
        let text = """
            let a = Date()
            let b = Date(timeIntervalSince1970: 0)  // Not Date(), which reads the clock.
            let c = UUID(uuidString: "UUID()")
            let d = UUID().uuidString
            func e(_ task: Task<Void, Never>) async throws { try await Task.sleep(for: .seconds(1)) }
            let f = world.random()
            let g = Double.random(in: 0..<1)
            group.addTask { await e() }
            Task { await e() }
            let task: Task<Void, Never> = world.startTask("e") { await e() }
            Task(priority: .high) { await e() }
            let h: UInt8 = .random(in: 0...1)
            func i(now: Date = Date.now) { for j in k.shuffled() {} }
            let l = k.shuffled(using: &numbers)
            func m(world: World = .live, now: Date = World.live.now) {}
            """
        let found = Self.violations(in: SourceText(path: "a.swift", text))
        #expect(found.map(\.line) == [1, 4, 5, 7, 9, 11, 12, 13, 13, 15])
        #expect(
            found.first?.description
                == "a.swift:1: Date() reads the clock past the world: take it as an argument, a World "
                + "of StratusRuntime.")
    }
}
