import Hummingbird
import TestServing

/// Routes that answer every request with the same body.
func answering(
    _ write: @escaping @Sendable (inout any ResponseBodyWriter) async throws -> Void
) -> Router<BasicRequestContext> {
    everyRequest { _ in
        Response(
            status: .ok,
            body: ResponseBody { writer in
                try await write(&writer)
                try await writer.finish(nil)
            })
    }
}
