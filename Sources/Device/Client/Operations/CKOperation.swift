import Foundation
import Synchronization

/// Work for the service that runs on an operation queue; the base of all of them.
///
/// Every operation owns a serial queue on which all its blocks run, one at a time: first those of
/// the items, then the one of the result, exactly once, then `completionBlock`. Set the blocks
/// before the operation is enqueued; they are let go when it has ended, so that a block may hold its
/// operation. An operation is used once.
///
/// `@unchecked Sendable`: what changes while it runs is behind `lifecycle`; the settings and
/// blocks that subclasses declare are set before it is enqueued, and only read afterwards.
public class CKOperation: Operation, @unchecked Sendable {
    public typealias ID = String
    public typealias Configuration = CKOperationConfiguration

    private struct Lifecycle {
        var isEnqueued = false
        var isExecuting = false
        var isFinished = false
        var task: Task<Void, Never>?
        var ownConfiguration = CKOperationConfiguration()
        var group: CKOperationGroup?
        var inherited = OperationDefaults()
        var journal: OperationJournal?
        var origin: OperationOrigin?
    }

    private let lifecycle = Mutex(Lifecycle())
    let callbackQueue = DispatchQueue(label: "stratus.operation.callbacks")

    public let operationID: CKOperation.ID

    public override convenience init() {
        self.init(operationID: UUID().uuidString)
    }

    required init(operationID: CKOperation.ID) {
        self.operationID = operationID
        super.init()
    }

    // MARK: Settings

    /// The operation's settings; nil restores the defaults.
    public var configuration: CKOperation.Configuration! {
        get { lifecycle.withLock { $0.ownConfiguration } }
        set {
            let values = newValue?.values ?? .init()
            lifecycle.withLock { $0.ownConfiguration = CKOperationConfiguration(values) }
        }
    }

    public var group: CKOperationGroup? {
        get { lifecycle.withLock { $0.group } }
        set { lifecycle.withLock { $0.group = newValue } }
    }

    /// Called once when a long-lived operation is on the disk, before it is sent: from then on
    /// `allLongLivedOperationIDs()` names it. Not for one that was fetched from there.
    ///
    /// Source: Apple's page "longLivedOperationWasPersistedBlock".
    public var longLivedOperationWasPersistedBlock: (() -> Void)?

    /// What holds: the operation's own settings, its group's, then those of the database or
    /// container that it was added to.
    var effectiveConfiguration: CKOperationConfiguration.Values {
        let (own, group, inherited) = lifecycle.withLock {
            ($0.ownConfiguration, $0.group, $0.inherited)
        }
        var values = own.values
        if values.qualityOfService == nil, qualityOfService != .default {
            // `operation.qualityOfService = …`, which belongs to Operation, is meant for us too.
            values.qualityOfService = qualityOfService
        }
        return values.over(group?.defaultValues ?? .init()).over(inherited.configuration)
            .over(inherited.group?.defaultValues ?? .init())
    }

    func adopt(container: CKContainer) {
        configuration.container = container
        lifecycle.withLock { $0.inherited = container.defaults }
    }

    func inherit(_ defaults: OperationDefaults) {
        lifecycle.withLock { $0.inherited = defaults }
    }

    /// What is kept of a long-lived operation while it runs.
    var journal: OperationJournal? {
        get { lifecycle.withLock { $0.journal } }
        set { lifecycle.withLock { $0.journal = newValue } }
    }

    /// Set where this goes on with a long-lived operation of an earlier process.
    var origin: OperationOrigin? {
        get { lifecycle.withLock { $0.origin } }
        set { lifecycle.withLock { $0.origin = newValue } }
    }

    // MARK: Life

    /// Notes that the operation was given to a database or a container.
    func enqueue(on queue: OperationQueue) {
        let isFirst = lifecycle.withLock { lifecycle in
            defer { lifecycle.isEnqueued = true }
            return !lifecycle.isEnqueued && !lifecycle.isExecuting && !lifecycle.isFinished
        }
        precondition(
            isFirst,
            "The operation was added before, and each is used once; make a new one.")
        queue.addOperation(self)
    }

    public override var isAsynchronous: Bool { true }
    public override var isExecuting: Bool { lifecycle.withLock { $0.isExecuting } }
    public override var isFinished: Bool { lifecycle.withLock { $0.isFinished } }

    /// Does nothing when the operation has finished. Source: Apple's page "start()" of `Operation`.
    ///
    /// - Precondition: the operation is not executing.
    public override func start() {
        if isFinished { return }
        willChangeValue(forKey: "isExecuting")
        lifecycle.withLock {
            precondition(
                !$0.isExecuting && !$0.isFinished,
                "The operation is executing, and cannot be started again; make a new one.")
            $0.isExecuting = true
        }
        didChangeValue(forKey: "isExecuting")
        let task = Task(priority: effectiveConfiguration.taskPriority) { await self.run() }
        // Not kept when it has ended already: it would hold the operation for ever.
        lifecycle.withLock { if !$0.isFinished { $0.task = task } }
        // A cancel() between the lines above found no task.
        if isCancelled { task.cancel() }
    }

    public override func cancel() {
        super.cancel()
        lifecycle.withLock { $0.task }?.cancel()
    }

    private func run() async {
        var failure: CKError?
        do {
            if isCancelled { throw CKError.cancelled }
            try await performOrReplay()
            await delivered()
            if isCancelled { throw CKError.cancelled }
        } catch {
            // Told by `report`.
            failure = isCancelled ? .cancelled : CKError(requestFailedWith: error)
        }
        let error = failure
        keepEnd(error)
        callbackQueue.async {
            self.report(error)
            self.forgetBlocks()
            self.forgetAtCompletion()
            self.forgetDependencies()
            self.finish()
        }
    }

    deinit {
        forgetDependencies()
    }

    /// Foundation on Linux goes on to call an operation that is no more when what it waited for ends:
    /// one that was cancelled while it waited, or was never added to a queue.
    private func forgetDependencies() {
        for dependency in dependencies where !dependency.isFinished {
            removeDependency(dependency)
        }
    }

    /// Lets go of the completion block when it has returned, as Foundation does not on Linux, and of
    /// what was kept on the disk.
    private func forgetAtCompletion() {
        let (block, journal) = (completionBlock, journal)
        guard block != nil || journal != nil else { return }
        completionBlock = { [weak self] in
            block?()
            journal?.forget()
            self?.completionBlock = nil
        }
    }

    private func finish() {
        willChangeValue(forKey: "isExecuting")
        willChangeValue(forKey: "isFinished")
        lifecycle.withLock {
            $0.isExecuting = false
            $0.isFinished = true
            $0.task = nil
            $0.journal = nil
        }
        didChangeValue(forKey: "isExecuting")
        didChangeValue(forKey: "isFinished")
    }

    // MARK: For subclasses

    /// Does the work; throws what fails it as a whole.
    func perform() async throws {
        preconditionFailure(
            "CKOperation itself does nothing; run an operation of a class below it.")
    }

    /// Calls the result blocks; on the callback queue, exactly once.
    func report(_ error: CKError?) {}

    /// Lets go of the blocks, and of what they were told; on the callback queue, after ``report(_:)``.
    func forgetBlocks() {
        longLivedOperationWasPersistedBlock = nil
    }

    /// Enqueues calls of item blocks. Nothing is told once the operation was cancelled.
    func deliver(_ calls: @escaping @Sendable () -> Void) {
        callbackQueue.async {
            if !self.isCancelled { calls() }
        }
    }

    /// Calls a block for each item; stops when one of them cancels the operation.
    func forEach<Item>(_ items: some Sequence<Item>, _ body: (Item) -> Void) {
        for item in items {
            if isCancelled { return }
            body(item)
        }
    }

    /// Waits until all blocks enqueued so far have run, so that a slow app is not run over by
    /// pages.
    func delivered() async {
        await withCheckedContinuation { continuation in
            callbackQueue.async { continuation.resume() }
        }
    }
}
