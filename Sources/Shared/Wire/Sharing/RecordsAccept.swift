/// `records/accept`: joins shares by the short GUIDs of their links.
public enum RecordsAccept: Endpoint {
    public static let path = "records/accept"

    public typealias Request = RecordsResolve.Request
    public typealias Answer = RecordsResolve.Answer
}
