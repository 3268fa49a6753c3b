import CloudKit
import StratusCache
import StratusRecords
import StratusSync

private var path: String { fatalError() }
