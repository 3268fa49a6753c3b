import StratusRecords
import StratusService
import StratusTesting

extension TestCloud {
    /// A cloud whose pages of changes have at most so many records or zones.
    convenience init(pageSize: Int) {
        let limits = Limits.with {
            $0.recordsPerPage = pageSize
            $0.maximumRecordsPerPage = pageSize
        }
        self.init(settings: ServiceSettings(isForDevelopment: true, limits: limits))
    }
}
