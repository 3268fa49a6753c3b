import Foundation

// A new device fetches a whole zone by CKFetchRecordZoneChangesOperation, over HTTP, from a service in
// a process of its own; beside it the same pages are downloaded and thrown away. Each fetch has a process
// of its own too, so that its peak memory is its own. Usage: FetchBenchmark [ROUNDS] [RECORDS]
let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case "fetch":
    let recordCount = Int(arguments[1]) ?? 0
    let fetch = try await Client(url: arguments[2]).fetch(recordCount: recordCount)
    guard fetch.recordCount == recordCount, fetch.titleBytes > recordCount else {
        throw Failure(text: "\(fetch)")
    }
    print(fetch.seconds, fetch.peakKilobytes[0], fetch.peakKilobytes[1])
case "download":
    var download = BareDownload(url: arguments[1])
    try await download.run()
    print(download.seconds, download.byteCount, download.pageCount, peakKilobytes())
default:
    let numbers = arguments.compactMap { Int($0) }
    try await compare(rounds: numbers.first ?? 5, recordCount: numbers.dropFirst().first ?? 100_000)
}

func compare(rounds: Int, recordCount: Int) async throws {
    let service = try Service()
    defer { service.stop() }
    let start = ContinuousClock.now
    try await Client(url: service.url).fill(recordCount: recordCount)
    let seconds = (ContinuousClock.now - start).seconds
    print(
        "saved \(recordCount) records, 400 a request: \(Int(Double(recordCount) / seconds)) a second"
    )

    var fetches: [[Double]] = []
    var downloads: [[Double]] = []
    for _ in 0..<rounds {
        fetches.append(try service.measure(["fetch", String(recordCount)]))
        downloads.append(try service.measure(["download"]))
    }
    if let last = downloads.last {
        print("\(Int(last[2])) pages, \(Int(last[1])) bytes")
    }
    show("fetched, records a second", fetches.map { Double(recordCount) / $0[0] })
    show("bare download, records a second", downloads.map { Double(recordCount) / $0[0] })
    show("peak after a tenth of the records, KB", fetches.map { $0[1] })
    show("peak after all records, KB", fetches.map { $0[2] })
    show("peak of the bare download, KB", downloads.map { $0[3] })
}

func show(_ name: String, _ samples: [Double]) {
    let sorted = samples.sorted().map { Int($0) }
    print(
        "\(name): least \(sorted[0]), median \(sorted[sorted.count / 2]), greatest \(sorted[sorted.count - 1])"
    )
}
