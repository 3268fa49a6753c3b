import Foundation
import StratusRecords
import StratusRuntime

/// An operation whose arguments and outcome can be stored on the disk.
///
/// While the process lives it differs from other operations only in that its arguments are written
/// before it is sent, and its results before they are reported. Rationale:
/// `Documentation/Decisions/0012-long-lived-operations.md`.
protocol LongLivedOperation: CKDatabaseOperation {
    /// The results that are reported to the app at a time: one page, or all.
    associatedtype Page: Sendable

    func writeArguments(to writer: JournalWriter) throws
    func readArguments(from reader: JournalReader, assetFolder: AssetFolder) throws

    static func write(_ page: Page, to writer: JournalWriter) throws
    static func readPage(from reader: JournalReader, assetFolder: AssetFolder) throws -> Page

    /// Calls the items' blocks, on the callback queue.
    func callBlocks(_ page: Page)
}

extension LongLivedOperation
where Page: ItemsModification, Page.ItemID: JournalKey, Page.Item: NSObject & NSCoding {
    // The files of saved assets are the app's own, and are stored with the arguments.
    static func write(_ page: Page, to writer: JournalWriter) throws {
        try writer.write(page.saves, "saves")
        try writer.write(page.deletions, "deletions")
    }

    static func readPage(
        from reader: JournalReader, assetFolder: AssetFolder
    ) throws -> Page {
        var page = Page()
        page.saves = try reader.results("saves", in: assetFolder)
        page.deletions = try reader.results("deletions", in: assetFolder)
        return page
    }
}

/// An operation that fetches items by ID, in one page.
protocol LongLivedFetch: LongLivedOperation where Page == [ItemResult<ItemID, Item>] {
    associatedtype ItemID: JournalKey, Sendable
    associatedtype Item: NSObject, NSCoding, Sendable

    /// The key of its results in a journal.
    static var resultsKey: String { get }
}

extension LongLivedFetch {
    static func write(_ page: Page, to writer: JournalWriter) throws {
        try writer.write(page, resultsKey, keepsFiles: true)
    }

    static func readPage(
        from reader: JournalReader, assetFolder: AssetFolder
    ) throws -> Page {
        try reader.results(resultsKey, in: assetFolder)
    }
}

extension LongLivedOperation {
    /// Reports a page to the app after the previous one has been processed.
    func hand(_ page: Page) async throws {
        // The app may process one page while the next is fetched, but not more.
        await delivered()
        if isCancelled { throw CKError.cancelled }
        journal?.keep { try Self.write(page, to: $0) }
        deliver { self.callBlocks(page) }
    }

    /// Reports the stored outcome of an operation that ended.
    ///
    /// - Returns: false if the operation did not end and must be performed.
    /// - Throws: the error with which it ended.
    fileprivate func replay(_ journal: OperationJournal) async throws -> Bool {
        guard let (end, pieces) = journal.ending() else { return false }
        let assetFolder = effectiveDatabase.core.connection.assetFolder
        while let piece = try pieces.next() {
            let page = try Self.readPage(
                from: JournalReader(piece, folder: journal.folder), assetFolder: assetFolder)
            await delivered()
            if isCancelled { throw CKError.cancelled }
            deliver { self.callBlocks(page) }
        }
        if let error = end.error { throw error }
        return true
    }

    fileprivate func describe(_ account: OperationAccount, to writer: JournalWriter) throws {
        let (coder, connection) = (writer.coder, effectiveDatabase.core.connection)
        coder.archive(account.user, "author")
        coder.archive(connection.deviceID, "deviceID")
        coder.archive(connection.world.now, "date")
        coder.archive("\(type(of: self))", "class")
        coder.encode(Int64(effectiveDatabase.databaseScope.rawValue), forKey: "scope")
        coder.archive(group, "group")
        effectiveConfiguration.archive(with: coder)
        try writeArguments(to: writer)
    }
}

extension CKOperation {
    /// Performs the operation, or reports the stored outcome of one that ended.
    func performOrReplay() async throws {
        guard effectiveConfiguration.isLongLived == true || origin != nil,
            let operation = self as? any LongLivedOperation,
            let journal = try await operation.openedJournal()
        else { return try await perform() }
        self.journal = journal
        if try await operation.replay(journal) { return }
        journal.beginOutcome()
        try await perform()
    }

    /// Stores how the operation ended, before it is reported to the app; removes the journal of a
    /// cancelled one.
    func keepEnd(_ error: CKError?) {
        if isCancelled {
            (journal ?? origin.flatMap { OperationJournal.opened($0.folder) })?.forget()
        } else if let journal, let operation = self as? CKDatabaseOperation {
            journal.end(error, at: operation.effectiveDatabase.core.connection.world.now)
        }
    }
}

extension CKDatabaseOperation {
    /// Creates the journal, or continues that of an earlier process.
    ///
    /// - Returns: nil when it cannot be written; the operation then runs without one.
    fileprivate func openedJournal() async throws -> OperationJournal? {
        guard let operation = self as? any LongLivedOperation else { return nil }
        let (database, core) = (effectiveDatabase, effectiveDatabase.core)
        let account = try await core.operationAccount(
            scope: database.databaseScope,
            pace: effectiveConfiguration.pace(core.connection.world))
        if let origin, origin.author != account.user {
            throw CKError(
                .notAuthenticated,
                "Another user began the long-lived operation \(operationID); sign in as that user.")
        }
        let folder = core.connection.operationFolder
        if let description = folder.description(of: operationID, account) {
            return try goOn(description, folder.url(of: operationID, account))
        }
        do {
            let journal = try folder.make(operationID, of: account) {
                try operation.describe(account, to: $0)
            }
            deliver { self.longLivedOperationWasPersistedBlock?() }
            return journal
        } catch {
            // The operation itself needs no journal and runs without one (decision 12); the log
            // says so.
            OperationFolder.warn(
                "This long-lived operation is not kept; make the folder of such operations writable.",
                folder.root, error)
            return nil
        }
    }

    private func goOn(
        _ description: OperationJournal.Description, _ url: URL
    ) throws -> OperationJournal {
        let connection = effectiveDatabase.core.connection
        guard let journal = OperationJournal.opened(url) else {
            throw CKError(
                .invalidArguments,
                "The operation \(operationID) is already running; wait for it.")
        }
        let age = connection.world.now.timeIntervalSince(description.date)
        let changes = self is CKModifyRecordsOperation || self is CKModifyRecordZonesOperation
        // An operation whose outcome cannot be read would be sent again, like one that did not end.
        if changes, age > OperationFolder.operationLifetimeSeconds, journal.ending() == nil {
            // The operation ends here, so its journal is removed.
            journal.forget()
            throw CKError(
                .serverResponseLost,
                "The operation \(operationID) is too old to be sent again safely; fetch the records that"
                    + " it may have changed.")
        }
        if description.deviceID != connection.deviceID {
            journal.foreignDeviceID = description.deviceID
        }
        return journal
    }
}

extension ContainerCore {
    /// The account of the operations of a container.
    func operationAccount(
        scope: CKDatabase.Scope?, pace: RequestPace
    ) async throws -> OperationAccount {
        let hasNoOwner = !connection.hasAccount && (scope ?? .public) == .public
        return OperationAccount(
            container: identifier, environment: connection.environment,
            user: hasNoOwner ? "" : try await userRecordName(pace: pace))
    }
}
