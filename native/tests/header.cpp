// A C++17 program may include the header and link the library.
#include <cstdio>

#include "bedplate.h"

int main() {
    bedplate_error error{};
    bedplate_bundle *bundle = nullptr;
    bedplate_status status = bedplate_bundle_open("/absent/policy.bpw", &bundle, &error);
    std::printf("%d %s\n", static_cast<int>(status), error.text);
    return status == BEDPLATE_CANNOT_READ && bundle == nullptr && bedplate_abi() == BEDPLATE_ABI ? 0 : 1;
}
