import Foundation
import Synchronization

/// Work for the service that runs on an operation queue; the base of all of them.
///
/// Every operation owns a serial queue on which all its blocks run, one at a time: first those of
/// the items, then the one of the result, exactly once, then `completionBlock`. Set the blocks
/// before the operation is enqueued. An operation is used once.
///
/// `@unchecked Sendable`: what changes while it runs is behind ``lifecycle``; the settings and
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
    }

    private let lifecycle = Mutex(Lifecycle())
    let callbackQueue = DispatchQueue(label: "stratus.operation.callbacks")

    public let operationID: CKOperation.ID

    public override convenience init() {
        self.init(operationID: UUID().uuidString)
    }

    init(operationID: CKOperation.ID) {
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

    /// Called when a long-lived operation outlives its process. Never here: none does.
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

    // MARK: Life

    /// Notes that the operation was given to a database or a container.
    func enqueue(on queue: OperationQueue) {
        let isFirst = lifecycle.withLock { lifecycle in
            defer { lifecycle.isEnqueued = true }
            return !lifecycle.isEnqueued && !lifecycle.isExecuting && !lifecycle.isFinished
        }
        precondition(isFirst, "Make a new operation: each is used once.")
        queue.addOperation(self)
    }

    public override var isAsynchronous: Bool { true }
    public override var isExecuting: Bool { lifecycle.withLock { $0.isExecuting } }
    public override var isFinished: Bool { lifecycle.withLock { $0.isFinished } }

    public override func start() {
        willChangeValue(forKey: "isExecuting")
        lifecycle.withLock { $0.isExecuting = true }
        didChangeValue(forKey: "isExecuting")
        let task = Task(priority: effectiveConfiguration.taskPriority) { await self.run() }
        lifecycle.withLock { $0.task = task }
        // A cancel() between the two lines above found no task.
        if isCancelled { task.cancel() }
    }

    public override func cancel() {
        super.cancel()
        lifecycle.withLock { $0.task }?.cancel()
    }

    private func run() async {
        var failure: CKError?
        if isCancelled {
            failure = .cancelled
        } else {
            do {
                try await perform()
            } catch {
                // Told by `report`.
                failure = isCancelled ? .cancelled : CKError(requestFailedWith: error)
            }
        }
        let error = failure
        callbackQueue.async {
            self.report(error)
            self.finish()
        }
    }

    private func finish() {
        willChangeValue(forKey: "isExecuting")
        willChangeValue(forKey: "isFinished")
        lifecycle.withLock {
            $0.isExecuting = false
            $0.isFinished = true
            $0.task = nil
        }
        didChangeValue(forKey: "isExecuting")
        didChangeValue(forKey: "isFinished")
    }

    // MARK: For subclasses

    /// Does the work; throws what fails it as a whole.
    func perform() async throws {
        preconditionFailure("Run an operation of a class below CKOperation: this one does nothing.")
    }

    /// Calls the result blocks; on the callback queue, exactly once.
    func report(_ error: CKError?) {}

    /// Enqueues calls of item blocks. Nothing is told once the operation was cancelled.
    func deliver(_ calls: @escaping @Sendable () -> Void) {
        callbackQueue.async {
            if !self.isCancelled { calls() }
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
