import CloudKit
import CoreLocation
import Foundation

private var connection: CloudConnection { fatalError() }
private var alicesPhone: CloudConnection { fatalError() }
private var container: CKContainer { fatalError() }
private var database: CKDatabase { fatalError() }
private var identifier: String { fatalError() }
private var transport: HTTPTransport { fatalError() }
private var credentials: HTTPTransport.Credentials { fatalError() }
private var ownAuthority: String { fatalError() }
private var error: CKError { fatalError() }
private var record: CKRecord { fatalError() }
private var trail: CKRecord { fatalError() }
private var share: CKShare { fatalError() }
private var metadata: CKShare.Metadata { fatalError() }
private var query: CKQuery { fatalError() }
private var token: CKServerChangeToken? { fatalError() }
private var here: CLLocation { fatalError() }
private var link: URL { fatalError() }
private var photoURL: URL { fatalError() }

// The app's own functions.
private var store: Store { fatalError() }
private var userSaysOwnerSentIt: Bool { fatalError() }
private func fetch(hintedBy notification: CKNotification?) async {}
private func fetchPage(after cursor: CKQueryOperation.Cursor) {}
private func show(_ id: CKRecord.ID, _ result: Result<CKRecord, any Error>) {}

private actor Store {
    func fetch(hintedBy notification: CKNotification?) throws -> Int { fatalError() }
}
