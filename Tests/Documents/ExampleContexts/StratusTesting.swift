import CloudKit
import StratusCache
import StratusStorage
import StratusTesting
import StratusWire
import Testing

private var cloud: TestCloud { fatalError() }
private var record: CKRecord { fatalError() }

/// The engine under test.
private func MyStorageEngine() throws -> SQLiteStorageEngine { fatalError() }
/// Signs a user in at the service under test.
private func myTransport(_ user: String?, _ device: String) -> any Transport { fatalError() }
