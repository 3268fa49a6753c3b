// Empty: the mapping between an app's own objects and records comes here. Until then
// the product exports what it will be built on.
@_exported import StratusCache
