import Dispatch
import StratusRecords
import StratusStorage
import Synchronization
import Testing

@testable import StratusService

/// How passwords are stored and how long hashing may take, and the limits of concurrent sign-ins.
@Suite struct PasswordTests {
    @Test func storedHashIsVerifiedWithItsOwnCost() throws {
        let cheap = try PasswordHash("correct horse", salt: [1, 2, 3], cost: .cheap)
        let read = try #require(PasswordHash(text: cheap.text))
        #expect(read == cheap)
        #expect(try read.matches("correct horse"))
        for other in ["correct horse ", "Correct horse", "", "correct\0horse"] {
            #expect(try !read.matches(other))
        }
        let salted = try PasswordHash("correct horse", salt: [4, 5, 6], cost: .cheap)
        #expect(salted.key != cheap.key)
        let dearer = PasswordHash.Cost(logRounds: 4, blockSize: 2, parallelism: 2)
        let other = try PasswordHash("correct horse", salt: [1, 2, 3], cost: dearer)
        #expect(other.text.hasPrefix("$scrypt$ln=4,r=2,p=2$"))
        #expect(try PasswordHash(text: other.text)?.matches("correct horse") == true)
    }

    /// RFC 7914 §12, the second vector.
    @Test func passwordHashMatchesScryptTestVector() throws {
        let hash = try PasswordHash(
            "password", salt: Array("NaCl".utf8),
            cost: .init(logRounds: 10, blockSize: 8, parallelism: 16))
        #expect(
            Hexadecimal.text(hash.key)
                == "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162")
    }

    @Test func malformedPasswordHashIsNotParsed() {
        let key = Base64.text([UInt8](repeating: 7, count: 32))
        for text in [
            "", "$", "$scrypt$", "password", "$scrypt$ln=1,r=1,p=1$AAAA$AAAA",
            "$bcrypt$ln=1,r=1,p=1$AAAA$\(key)", "$scrypt$ln=99,r=1,p=1$AAAA$\(key)",
            "$scrypt$ln=1,r=1$AAAA$\(key)", "$scrypt$ln=1,r=0,p=1$AAAA$\(key)",
            "$scrypt$ln=1,r=1,p=1$$\(key)", "$scrypt$ln=x,r=1,p=1$AAAA$\(key)",
        ] {
            #expect(PasswordHash(text: text) == nil, "\(text)")
        }
    }

    @Test func fullPasswordQueueRefusesAsBusy() async throws {
        let memory = MemoryBudget(limitBytes: 1 << 30)
        let queue = PasswordQueue(limits: Limits(), memory: memory)
        let gate = Gate()
        let refusals = Counter()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<100 {
                group.addTask {
                    do {
                        try await queue.run(from: "10.0.0.\(number)", cost: .standard) {
                            gate.wait()
                        }
                    } catch let refusal as SignInRefusal where refusal == .busy {
                        // Two are hashed, 64 wait, the others are refused.
                        if refusals.next() == 34 { gate.open() }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(refusals.count == 34)
        #expect(memory.peakBytes == 2 * 32 << 20)
        // Afterwards there is room again.
        try await queue.run(from: "10.0.0.1", cost: .standard) {}
        #expect(memory.heldBytes == 0)
    }

    /// A difference in time would reveal which accounts exist, so the password is hashed in both cases. If there is no
    /// room for that, both get the same refusal.
    @Test func unknownAccountIsHashedLikeWrongPassword() async throws {
        var settings = ServiceSettings(isForDevelopment: true)
        settings.accounts = AccountSettings(signUp: .open, passwordCost: .cheap)
        let service = CloudService(storage: SQLiteStorageEngine.inMemory(), settings: settings)
        _ = try await service.accounts.createUser(
            emailAddress: "ida@example.org", password: "correct horse", givenName: "",
            familyName: "", isEmailVerified: false)
        func refusal(_ address: String) async throws -> SignInRefusal? {
            do {
                _ = try await service.accounts.user(
                    signingIn: SignInForm(
                        emailAddress: address, password: "wrong horse", networkAddress: "::1"))
                return nil
            } catch let refusal as SignInRefusal {
                return refusal
            }
        }
        let gate = Gate()
        let (refused, refuse) = AsyncStream<Void>.makeStream()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<67 {
                group.addTask {
                    do {
                        try await service.accounts.passwords.run(
                            from: "10.0.0.\(number)", cost: .standard
                        ) {
                            gate.wait()
                        }
                    } catch let refusal as SignInRefusal where refusal == .busy {
                        refuse.yield()
                    }
                }
            }
            for await _ in refused { break }
            #expect(try await refusal("ida@example.org") == .busy)
            #expect(try await refusal("nobody@example.org") == .busy)
            gate.open()
            try await group.waitForAll()
        }
        #expect(try await refusal("ida@example.org") == .wrong)
        #expect(try await refusal("nobody@example.org") == .wrong)
    }

    /// A hash may wait for long; what an operator decides in the meantime is not undone by it.
    @Test func accountDisabledDuringPasswordChangeStaysDisabled() async throws {
        var settings = ServiceSettings(isForDevelopment: true)
        settings.accounts = AccountSettings(signUp: .open, passwordCost: .cheap)
        let places = settings.limits.passwordsAtOnce
        let service = CloudService(storage: SQLiteStorageEngine.inMemory(), settings: settings)
        let user = try await service.accounts.createUser(
            emailAddress: "ida@example.org", password: "correct horse", givenName: "",
            familyName: "", isEmailVerified: false)
        let gate = Gate()
        let (occupied, occupy) = AsyncStream<Void>.makeStream()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<places {
                group.addTask {
                    try await service.accounts.passwords.run(
                        from: "10.0.0.\(number)", cost: .cheap
                    ) {
                        occupy.yield()
                        gate.wait()
                    }
                }
            }
            var count = 0
            for await _ in occupied {
                count += 1
                if count == places { break }
            }
            group.addTask {
                try await service.accounts.setPassword("another horse", user.recordName)
            }
            while service.accounts.passwords.waiting == 0 { await Task.yield() }
            try await service.accounts.setDisabled(true, user.recordName)
            gate.open()
            try await group.waitForAll()
        }
        #expect(try await service.accounts.user(user.recordName).isDisabled)
    }

    @Test func attemptLimitRefillsOneByOne() {
        let limiter = AttemptLimiter(burst: 3, secondsPerAttempt: 10)
        for _ in 0..<3 { #expect(limiter.take("a", nowMilliseconds: 0) == nil) }
        #expect(limiter.take("a", nowMilliseconds: 0) == 10)
        #expect(limiter.take("a", nowMilliseconds: 4_000)?.rounded() == 6)
        #expect(limiter.take("a", nowMilliseconds: 10_000) == nil)
        #expect(limiter.take("a", nowMilliseconds: 10_000) == 10)
        limiter.giveBack("a")
        #expect(limiter.take("a", nowMilliseconds: 10_000) == nil)
        #expect(limiter.take("a", nowMilliseconds: 1_000_000) == nil)
    }

    @Test(
        arguments: [
            ("2026-11-21T06:25:00Z", 1_795_242_300_000), ("1970-01-01T00:00:00Z", 0),
            ("2024-02-29T23:59:59Z", 1_709_251_199_000), ("2000-03-01T00:00:00Z", 951_868_800_000),
        ] as [(String, Int64)])
    func signatureDateIsParsedAsMilliseconds(_ text: String, _ milliseconds: Int64) {
        let signature = RequestSignature(
            keyID: "", date: text, signature: "", target: "", body: [UInt8]())
        #expect(signature.milliseconds == milliseconds)
    }
}

/// Blocks threads until it is opened.
private final class Gate: Sendable {
    private let group = DispatchGroup()

    init() { group.enter() }

    func wait() { group.wait() }
    func open() { group.leave() }
}

private final class Counter: Sendable {
    private let number = Mutex(0)

    var count: Int { number.withLock { $0 } }

    func next() -> Int {
        number.withLock { number in
            number += 1
            return number
        }
    }
}
