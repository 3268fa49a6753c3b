import StratusRecords
import StratusWire

// What requests cost their sender in tokens beyond the one of every request, in proportion to the work:
// a record that is saved takes about as long as four that are read.

extension RecordsModify {
    public static func cost(of request: Request) -> Double {
        Double(request.operations.count) / 40
    }
}

extension RecordsLookup {
    public static func cost(of request: Request) -> Double {
        Double(request.records.count) / 160
    }
}

extension RecordsResolve {
    public static func cost(of request: Request) -> Double {
        Double(request.shortGUIDs.count) / 160
    }
}

extension RecordsAccept {
    public static func cost(of request: Request) -> Double {
        Double(request.shortGUIDs.count) / 40
    }
}

extension RecordsRequestAccess {
    public static func cost(of request: Request) -> Double {
        Double(request.shortGUIDs.count) / 40
    }
}

extension UsersDiscover {
    public static func cost(of request: Request) -> Double {
        Double(request.lookupInfos.count) / 160
    }
}

extension UsersLookupEmail {
    public static func cost(of request: Request) -> Double {
        Double(request.users.count) / 160
    }
}

extension UsersLookupID {
    public static func cost(of request: Request) -> Double {
        Double(request.users.count) / 160
    }
}

extension RecordsQuery {
    public static func cost(of request: Request) -> Double {
        1 + Double(request.query.filterBy.count + request.query.sortBy.count) / 10
    }
}

extension ChangesZone {
    public static func cost(of request: Request) -> Double {
        Double(request.zones.count) / 10
    }
}

extension ZonesModify {
    public static func cost(of request: Request) -> Double {
        Double(request.operations.count) / 10
    }
}

extension SubscriptionsModify {
    public static func cost(of request: Request) -> Double {
        Double(request.operations.count) / 10
    }
}
