/// A page's part, embedded in the program: nothing is read from disk or loaded from elsewhere.
struct PageFile: Sendable {
    let path: String
    let contentType: String
    let bytes: [UInt8]

    static let styleSheet = PageFile(
        path: "style.css", contentType: "text/css; charset=utf-8", bytes: PackageResources.style_css
    )

    /// The parts of a device's page.
    static let ofDevice = [
        PageFile(
            path: "", contentType: "text/html; charset=utf-8", bytes: PackageResources.list_html),
        styleSheet, script("page.js", PackageResources.page_js),
        script("rows.js", PackageResources.rows_js),
        script("sheets.js", PackageResources.sheets_js),
        script("pictures.js", PackageResources.pictures_js),
        script("service.js", PackageResources.service_js),
        script("elements.js", PackageResources.elements_js), icon,
    ]

    /// The parts of the page that shows several devices.
    static let ofDemo = [
        PageFile(
            path: "", contentType: "text/html; charset=utf-8", bytes: PackageResources.demo_html),
        styleSheet,
        PageFile(
            path: "demo.css", contentType: "text/css; charset=utf-8",
            bytes: PackageResources.demo_css),
        script("demo.js", PackageResources.demo_js),
        script("service.js", PackageResources.service_js),
        script("elements.js", PackageResources.elements_js), icon,
    ]

    static let icon = PageFile(
        path: "icon.svg", contentType: "image/svg+xml", bytes: PackageResources.icon_svg)

    static func script(_ path: String, _ bytes: [UInt8]) -> PageFile {
        PageFile(path: path, contentType: "text/javascript; charset=utf-8", bytes: bytes)
    }
}
