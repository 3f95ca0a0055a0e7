// What is declared here is in `cooperative_groups.h`.
#pragma once

#include "../cooperative_groups.h"
