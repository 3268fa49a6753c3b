import Foundation
import Synchronization

/// The base class of all operations: requests to the service that run on an operation queue.
///
/// Each operation has a serial queue on which its blocks run, one at a time: first those of the
/// items, then the result block, exactly once, then `completionBlock`. Set the blocks before the
/// operation is enqueued; they are released when it has ended, so that a block may hold its
/// operation. An operation is used once.
///
/// `@unchecked Sendable`: what changes while it runs is behind `lifecycle`; the settings and
/// blocks that subclasses declare are set before it is enqueued, and only read afterwards.
public class CKOperation: Operation, @unchecked Sendable {
    /// The ID of an operation: a UUID as text.
    public typealias ID = String
    /// The settings of an operation; see ``CKOperationConfiguration``.
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

    /// The ID of the operation: a new UUID, or the former one if the operation was restored.
    ///
    /// Requests that change records or zones contain it, so that the service applies a repeated
    /// request only once.
    public let operationID: CKOperation.ID

    public override convenience init() {
        // Like Apple's other objects, it is created without a connection, and so without the connection's world.
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

    /// The group whose default configuration applies to settings that the operation does not have;
    /// nil by default. Groups are not sent to the service.
    public var group: CKOperationGroup? {
        get { lifecycle.withLock { $0.group } }
        set { lifecycle.withLock { $0.group = newValue } }
    }

    /// Called once when a long-lived operation is stored on the disk, before it is sent: from then
    /// on `allLongLivedOperationIDs()` returns it. Not called for an operation that was restored.
    ///
    /// Source: Apple's page "longLivedOperationWasPersistedBlock".
    public var longLivedOperationWasPersistedBlock: (() -> Void)?

    /// The completion block of older code, for operations where it takes only an error.
    var oldCompletionBlock: (((any Error)?) -> Void)?
    /// The errors of single items that were reported so far, for completion blocks of older code.
    var itemErrors: [AnyHashable: any Error] = [:]

    /// The settings in effect: the operation's own, else its group's, else those of the database or
    /// container that it was added to.
    var effectiveConfiguration: CKOperationConfiguration.Values {
        let (own, group, inherited) = lifecycle.withLock {
            ($0.ownConfiguration, $0.group, $0.inherited)
        }
        var values = own.values
        if values.qualityOfService == nil, qualityOfService != .default {
            // `operation.qualityOfService`, which Foundation's Operation declares, counts as a
            // setting too.
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

    /// The journal of a long-lived operation while it runs.
    var journal: OperationJournal? {
        get { lifecycle.withLock { $0.journal } }
        set { lifecycle.withLock { $0.journal = newValue } }
    }

    /// Set when this operation continues one of an earlier process.
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

    /// Always true: the operation runs in a task, not on the thread that starts it.
    public override var isAsynchronous: Bool { true }
    /// True from ``start()`` until the result block has returned.
    public override var isExecuting: Bool { lifecycle.withLock { $0.isExecuting } }
    /// True once the result block has returned; `completionBlock` is called after that.
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
        // Not stored when the operation has ended already: the task would retain it forever.
        lifecycle.withLock { if !$0.isFinished { $0.task = task } }
        // A cancel() before the line above found no task to cancel.
        if isCancelled { task.cancel() }
    }

    /// Cancels the operation: item blocks that were not called yet are skipped, and the result
    /// block receives `CKError.operationCancelled`.
    ///
    /// Changes that the service has applied already are not undone. An operation that has its
    /// result is not affected.
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
            // Reported to the app by `report`.
            failure = isCancelled ? .cancelled : CKError(requestFailedWith: error)
        }
        let error = failure
        keepEnd(error)
        callbackQueue.async {
            self.end(error)
            self.forgetAtCompletion()
            self.forgetDependencies()
            self.finish()
        }
    }

    deinit {
        forgetDependencies()
    }

    /// Removes the dependencies. When a dependency ends, Foundation on Linux calls the dependent
    /// operation even if it was deallocated: such as one that was cancelled while it waited, or
    /// never added to a queue.
    private func forgetDependencies() {
        for dependency in dependencies where !dependency.isFinished {
            removeDependency(dependency)
        }
    }

    /// Releases the completion block when it has returned, which Foundation on Linux does not do,
    /// and removes the journal.
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

    /// Does the work; throws the error with which the operation fails as a whole.
    func perform() async throws {
        preconditionFailure(
            "CKOperation itself does nothing; run an operation of a subclass.")
    }

    /// Calls the result blocks, exactly once, then releases the blocks and the data collected for
    /// them; on the callback queue.
    func end(_ error: CKError?) {
        oldCompletionBlock?(error ?? itemsFailure)
        longLivedOperationWasPersistedBlock = nil
        oldCompletionBlock = nil
        itemErrors = [:]
    }

    /// The `partialFailure` of the items that failed; nil when none did.
    var itemsFailure: CKError? { CKError.partialFailure(itemErrors) }

    /// Enqueues calls of item blocks, which are skipped after the operation was cancelled.
    func deliver(_ calls: @escaping @Sendable () -> Void) {
        callbackQueue.async {
            if !self.isCancelled { calls() }
        }
    }

    /// Enqueues the calls of a block for the result of each item, and notes the errors.
    ///
    /// - Parameter key: the key of an error in the `partialFailure`; the item by default.
    func deliver<Item: Hashable & Sendable, Value: Sendable>(
        _ results: [ItemResult<Item, Value>],
        errorKey key: @escaping @Sendable (Item) -> AnyHashable = { $0 },
        to block: @escaping @Sendable (Item, Result<Value, any Error>) -> Void
    ) {
        deliver {
            self.forEach(results) { item, result in
                self.itemErrors[key(item)] = result.failure
                block(item, result)
            }
        }
    }

    /// Calls a block for each item; stops when one of them cancels the operation.
    func forEach<Item>(_ items: some Sequence<Item>, _ body: (Item) -> Void) {
        for item in items {
            if isCancelled { return }
            body(item)
        }
    }

    /// Waits until all blocks enqueued so far have run, so that pages do not pile up for a slow
    /// app.
    func delivered() async {
        await withCheckedContinuation { continuation in
            callbackQueue.async { continuation.resume() }
        }
    }
}
