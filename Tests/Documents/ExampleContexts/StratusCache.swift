import CloudKit
import Foundation
import GRDB
import StratusCache

private var cache: CloudCache { fatalError() }
/// The cache of another device.
private var elsewhere: CloudCache { fatalError() }
private var container: CKContainer { fatalError() }
private var connection: CloudConnection { fatalError() }
private var path: String { fatalError() }
private var folder: String { fatalError() }
private var zone: CKRecordZone.ID { fatalError() }
private var trip: CKRecordZone.ID { fatalError() }
private var listID: CKRecord.ID { fatalError() }
private var note: CKRecord { fatalError() }
private var photo: CKRecord { fatalError() }
private var picture: URL { fatalError() }
private var attachment: URL { fatalError() }
private var store: EngineStore { fatalError() }

// The app's own functions and views.
private func show(_ records: QueryResults) {}
private func show(_ file: URL?) {}
private func send(_ link: URL?) {}
private func redraw(_ recordIDs: Set<CKRecord.ID>) {}
private func wantsToRestore(_ record: CKRecord) -> Bool { fatalError() }
private func wantsToShareAgain(_ share: CKShare) -> Bool { fatalError() }
private var statusLabel: Label { fatalError() }
private var bar: ProgressBar { fatalError() }

private final class Label {
    var text: String?
}

private final class ProgressBar {
    var value = 0.0
}

// What SwiftUI and UIKit declare.

@MainActor private protocol View {
    associatedtype Body
    var body: Body { get }
}

private struct Text: View {
    var body: Never { fatalError() }
    init(_ text: String) {}
}

private class UIApplication {}

private enum UIBackgroundFetchResult { case newData, noData, failed }
