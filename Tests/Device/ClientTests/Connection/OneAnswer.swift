import Hummingbird
import TestServing

/// Routes that answer whatever they are asked with one body.
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
