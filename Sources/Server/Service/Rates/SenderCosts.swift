/// Counts what requests cost their senders: for the senders' rates, and for which of their requests are heavy.
struct SenderCosts: Sendable {
    let meter: RequestMeter
    /// Nil when every request counts as light.
    let heavy: HeavyRequests?

    /// - Parameter admitted: The part of the cost that was taken at the request's admission.
    func charge(_ sender: Throttle.Sender, _ cost: Double, admitted: Double = 0) {
        meter.charge(sender, cost - admitted)
        heavy?.charge(sender, cost)
    }
}
