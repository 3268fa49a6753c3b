// Reads and writes a records/modify body of 400 records, as Stratus does and as Foundation does.
//
// Every round runs all variants once, in turns, so that a slow phase of the machine hits them alike.
// What is counted is the CPU time of this thread.

import Foundation
import StratusWire

let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 9

let body = wireBytes(of: Sample.request())
let request = try readWire(RecordsModify.Request.self, from: body)
let encodedRequest = Sample.encodingFields(of: request)
let data = Data(body)
let object = try JSONSerialization.jsonObject(with: data)
let decoded = try JSONDecoder().decode(CodableRequest.self, from: data)

let variants: [Variant] = [
    Variant("read: Stratus, simdjson's tape") {
        _ = try readWire(RecordsModify.Request.self, from: body)
    },
    Variant("read: Stratus, Swift parser") {
        _ = try readWire(RecordsModify.Request.self, from: body, parser: .swift)
    },
    Variant("read: simdjson's tape only") {
        _ = try readWire(EmptyBody.self, from: body)
    },
    Variant("read: JSONSerialization") {
        _ = try JSONSerialization.jsonObject(with: data)
    },
    Variant("read: JSONDecoder, Codable structs") {
        _ = try JSONDecoder().decode(CodableRequest.self, from: data)
    },
    Variant("write: Stratus, from values") {
        _ = wireBytes(of: request)
    },
    Variant("write: Stratus, splicing encoded fields") {
        _ = wireBytes(of: encodedRequest)
    },
    Variant("write: JSONSerialization") {
        _ = try JSONSerialization.data(withJSONObject: object)
    },
    Variant("write: JSONEncoder, Codable structs") {
        _ = try JSONEncoder().encode(decoded)
    },
]

for round in 0...rounds {
    // Round 0 warms up.
    for variant in variants { try variant.run(isRecorded: round > 0) }
}
print("body: \(body.count) bytes, \(request.operations.count) records; \(rounds) rounds")
print("MB/s of one core's CPU time: min / median / max")
for variant in variants { print(variant.summary(bytes: body.count)) }
