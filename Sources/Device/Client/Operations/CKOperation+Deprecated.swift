import Foundation

extension CKOperation {
    @available(*, deprecated, message: "Use configuration.container.")
    public var container: CKContainer? {
        get { configuration.container }
        set { configuration.container = newValue }
    }

    @available(*, deprecated, message: "Use configuration.allowsCellularAccess.")
    public var allowsCellularAccess: Bool {
        get { configuration.allowsCellularAccess }
        set { configuration.allowsCellularAccess = newValue }
    }

    @available(*, deprecated, message: "Use configuration.isLongLived.")
    public var isLongLived: Bool {
        get { configuration.isLongLived }
        set { configuration.isLongLived = newValue }
    }

    @available(*, deprecated, message: "Use configuration.timeoutIntervalForRequest.")
    public var timeoutIntervalForRequest: TimeInterval {
        get { configuration.timeoutIntervalForRequest }
        set { configuration.timeoutIntervalForRequest = newValue }
    }

    @available(*, deprecated, message: "Use configuration.timeoutIntervalForResource.")
    public var timeoutIntervalForResource: TimeInterval {
        get { configuration.timeoutIntervalForResource }
        set { configuration.timeoutIntervalForResource = newValue }
    }
}
